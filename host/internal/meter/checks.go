package meter

import "slices"

// Rough limits of what may be spent between two balance checks.
const (
	maxCalled   = 1_000  // by a function that does not check at its begin
	maxBody     = 30_000 // by a function in which not every large segment checks
	maxPlain    = 256    // by a segment without a check, in other functions
	maxReturned = 64     // by a function in a cycle that does not check after calls
)

// placeChecks places balance checks of a function besides those at heads of loops
// and before host calls: one on each cycle of calls, and others where much could be
// spent between checks.
//
// If all calls that close a cycle are in one segment, that segment checks, so that
// the last call of a recursion need not. If they are in several segments inside
// loops, the heads of the loops check. Otherwise the begin of the function checks.
func (g *graph) placeChecks(f int) {
	own, calls := g.m.segmentsOf(f), g.m.callsOf(f)
	for i := range own {
		g.uncheckedCost[f] += int(own[i].price + own[i].bulk)
	}
	// closing: calls that close a cycle; segments: those with such calls and without a check
	// so far; outside: those among them that no loop repeats; last: the last of them.
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
	long := g.uncheckedCost[f] > maxCalled // too much for callers that do not check
	if (segments > 1 && outside > 0 || long && !g.alwaysReachesLoop(f)) && own[0].check == checkNone {
		own[0].check = checkLoop
	}
	g.checksAtEntry[f] = long || len(own) > 0 && own[0].check != checkNone
	for i, c := range calls { // returning from a recursion takes as long as it was deep
		calls[i].check = closing > 0 && g.uncheckedCost[f] > maxReturned && g.inCycle(f, c)
	}
	if g.uncheckedCost[f] > maxBody {
		g.checkLargeSegments(f)
	}
}

// alwaysReachesLoop reports whether each call of a function reaches the head of a loop
// with a check, because the loop begins in the first segment.
func (g *graph) alwaysReachesLoop(f int) bool {
	first := g.m.funcInfos[f].segments
	return slices.ContainsFunc(g.m.loopsOf(f), func(l loop) bool {
		return l.before == first && g.m.segments[l.head].check != checkNone
	})
}

// inCycle reports whether a call in function f closes a cycle: the callee may call f
// again.
func (g *graph) inCycle(f int, c callSite) bool { return g.component[g.callee(c)] == g.component[f] }

// priceOfCall returns the most that a call costs before the callee checks the balance or
// returns. The call is in no cycle, so its callee was decided before.
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

// dropRedundantChecks removes the check from heads of loops whose every iteration has
// another: each segment that jumps back has one. A head with a call that closes a cycle
// keeps its check, which the cycle needs.
func (g *graph) dropRedundantChecks(f int) {
	for _, l := range g.m.loopsOf(f) {
		unchecked := func(i int) bool { return i == l.head || g.m.segments[i].check == checkNone }
		if head := &g.m.segments[l.head]; !head.closesCycle && !slices.ContainsFunc(l.backJumps, unchecked) {
			head.check = checkNone
		}
	}
}

// checkLargeSegments adds checks to all segments in which much may be spent.
func (g *graph) checkLargeSegments(f int) {
	cost := map[int32]int{} // of calls, by segment
	for _, c := range g.m.callsOf(f) {
		if !g.inCycle(f, c) {
			cost[c.segment] += g.priceOfCall(c)
		}
	}
	from := g.m.funcInfos[f].segments
	for i := from; i < from+len(g.m.segmentsOf(f)); i++ {
		s := &g.m.segments[i]
		if s.check == checkNone && int(s.price+s.bulk)+cost[int32(i)] > maxPlain {
			s.check = checkLoop
		}
	}
}
