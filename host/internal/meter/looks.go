package meter

import "slices"

// What may be spent from one look at the balance to the next, roughly.
const (
	maxCalled   = 1_000  // by a function that does not look where it begins
	maxBody     = 30_000 // by a function of which not each large segment looks
	maxPlain    = 256    // by a segment of any other that does not
	maxReturned = 64     // by a function in a cycle that does not look behind calls
)

// decide says where a function looks at the balance, beside the heads of its
// loops and calls of the host: somewhere on each cycle of calls, and wherever
// else it may spend much before something looks.
//
// If the calls that close a cycle are in one segment, that looks: then a call
// that ends a recursion does not. If they are in several, but all in loops, the
// heads of those were looked at. Otherwise it is the begin of the function.
func (g *graph) decide(f int) {
	own, calls := g.m.segmentsOf(f), g.m.callsOf(f)
	for i := range own {
		g.stretch[f] += int(own[i].price + own[i].bulk)
	}
	closing, apart, outside, last := 0, 0, 0, int32(noSegment)
	for _, c := range calls {
		if !g.closes(f, c) {
			g.stretch[f] += g.price(c)
			continue
		}
		closing++
		s := &g.m.segments[c.segment]
		s.closes = true
		if s.look == lookNot && c.segment != last {
			apart, last = apart+1, c.segment
			if !s.round {
				outside++
			}
		}
	}
	if apart == 1 {
		g.m.segments[last].look = lookOnce
		g.spare(f)
	}
	long := g.stretch[f] > maxCalled
	if (apart > 1 && outside > 0 || long && !g.loops(f)) && own[0].look == lookNot {
		own[0].look = lookOnce
	}
	g.entry[f] = long || len(own) > 0 && own[0].look != lookNot
	for i, c := range calls { // the way back from a recursion is as long as that was deep
		calls[i].look = closing > 0 && g.stretch[f] > maxReturned && g.closes(f, c)
	}
	if g.stretch[f] > maxBody {
		g.large(f)
	}
}

// loops says whether each call of a function comes to the head of a loop, where
// the balance is looked at.
func (g *graph) loops(f int) bool {
	first := g.m.all[f].segments
	return slices.ContainsFunc(g.m.loopsOf(f), func(l loop) bool {
		return l.before == first && g.m.segments[l.head].look != lookNot
	})
}

// closes says whether a call is part of a cycle.
func (g *graph) closes(f int, c callSite) bool { return g.group[g.callee(c)] == g.group[f] }

// price is what one that is not may cost before something looks.
func (g *graph) price(c callSite) int {
	switch {
	case c.callee == unknown:
		return maxCalled
	case g.entry[c.callee]:
		return 0
	default:
		return g.stretch[c.callee]
	}
}

// spare takes the look from heads of loops whose every round has another.
func (g *graph) spare(f int) {
	for _, l := range g.m.loopsOf(f) {
		none := func(i int) bool { return i == l.head || g.m.segments[i].look == lookNot }
		if head := &g.m.segments[l.head]; !head.closes && !slices.ContainsFunc(l.backs, none) {
			head.look = lookNot
		}
	}
}

// large has all segments look in which much may be spent.
func (g *graph) large(f int) {
	cost := map[int32]int{}
	for _, c := range g.m.callsOf(f) {
		if !g.closes(f, c) {
			cost[c.segment] += g.price(c)
		}
	}
	for i, from := g.m.all[f].segments, g.m.all[f].segments; i < from+len(g.m.segmentsOf(f)); i++ {
		s := &g.m.segments[i]
		if s.look == lookNot && int(s.price+s.bulk)+cost[int32(i)] > maxPlain {
			s.look = lookOnce
		}
	}
}
