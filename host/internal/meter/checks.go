package meter

import "slices"

// What may be spent from one look at the balance to the next, roughly.
const (
	maxCalled   = 1_000  // by a function that does not look where it begins
	maxBody     = 30_000 // by a function of which not each large segment looks
	maxPlain    = 256    // by a segment of any other that does not
	maxReturned = 64     // by a function in a cycle that does not look behind calls
)

// placeChecks says where a function looks at the balance, beside the heads of its
// loops and calls of the host: somewhere on each cycle of calls, and wherever
// else it may spend much before something looks.
//
// If the calls that close a cycle are in one segment, that looks: then a call
// that ends a recursion does not. If they are in several, but all in loops, the
// heads of those were looked at. Otherwise it is the begin of the function.
func (g *graph) placeChecks(f int) {
	own, calls := g.m.segmentsOf(f), g.m.callsOf(f)
	for i := range own {
		g.uncheckedCost[f] += int(own[i].price + own[i].bulk)
	}
	closing, segments, outside, last := 0, 0, 0, int32(noSegment)
	for _, c := range calls {
		if !g.inCycle(f, c) {
			g.uncheckedCost[f] += g.priceOfCall(c)
			continue
		}
		closing++
		s := &g.m.segments[c.segment]
		s.closesCycle = true
		if s.check == checkNone && c.segment != last {
			segments, last = segments+1, c.segment
			if !s.repeats {
				outside++
			}
		}
	}
	if segments == 1 {
		g.m.segments[last].check = checkLoop
		g.dropRedundantChecks(f)
	}
	long := g.uncheckedCost[f] > maxCalled
	if (segments > 1 && outside > 0 || long && !g.alwaysReachesLoop(f)) && own[0].check == checkNone {
		own[0].check = checkLoop
	}
	g.checksAtEntry[f] = long || len(own) > 0 && own[0].check != checkNone
	for i, c := range calls { // the way back from a recursion is as long as that was deep
		calls[i].check = closing > 0 && g.uncheckedCost[f] > maxReturned && g.inCycle(f, c)
	}
	if g.uncheckedCost[f] > maxBody {
		g.checkLargeSegments(f)
	}
}

// alwaysReachesLoop says whether each call of a function comes to the head of a loop, where
// the balance is looked at.
func (g *graph) alwaysReachesLoop(f int) bool {
	first := g.m.funcInfos[f].segments
	return slices.ContainsFunc(g.m.loopsOf(f), func(l loop) bool {
		return l.before == first && g.m.segments[l.head].check != checkNone
	})
}

// inCycle says whether a call is part of a cycle.
func (g *graph) inCycle(f int, c callSite) bool { return g.component[g.callee(c)] == g.component[f] }

// priceOfCall is what one that is not may cost before something looks.
func (g *graph) priceOfCall(c callSite) int {
	switch {
	case c.callee == unknown:
		return maxCalled
	case g.checksAtEntry[c.callee]:
		return 0
	default:
		return g.uncheckedCost[c.callee]
	}
}

// dropRedundantChecks takes the look from heads of loops whose every round has another.
func (g *graph) dropRedundantChecks(f int) {
	for _, l := range g.m.loopsOf(f) {
		none := func(i int) bool { return i == l.head || g.m.segments[i].check == checkNone }
		if head := &g.m.segments[l.head]; !head.closesCycle && !slices.ContainsFunc(l.backJumps, none) {
			head.check = checkNone
		}
	}
}

// checkLargeSegments has all segments look in which much may be spent.
func (g *graph) checkLargeSegments(f int) {
	cost := map[int32]int{}
	for _, c := range g.m.callsOf(f) {
		if !g.inCycle(f, c) {
			cost[c.segment] += g.priceOfCall(c)
		}
	}
	for i, from := g.m.funcInfos[f].segments, g.m.funcInfos[f].segments; i < from+len(g.m.segmentsOf(f)); i++ {
		s := &g.m.segments[i]
		if s.check == checkNone && int(s.price+s.bulk)+cost[int32(i)] > maxPlain {
			s.check = checkLoop
		}
	}
}
