package meter

import "slices"

const noCycle = -1

// cycle is a loop to which something comes.
type cycle struct {
	around int   // innermost cycle around it
	before int   // segment in which it begins
	takes  bool  // it has parameters
	head   int   // segment that it begins with
	backs  []int // segments that end with a jump back
	maybe  bool  // some jump back need not be made
	busy   int   // what walk.busy was
	loads  int   // segment in which the balance may be loaded
	waited bool  // there was a call in what leads to its begin
	round  bool  // it goes round, or one around it does
}

// cycle begins one: the segment that is opened next is its head.
func (w *walk) cycle() {
	f := &w.frames[len(w.frames)-1]
	f.cycle = len(w.cycles)
	w.begun = f.cycle
	w.cycles = append(w.cycles, cycle{
		around: w.around, before: f.before, head: noSegment, takes: w.A > 0, busy: w.busy, loads: w.mark(segment{parent: noSegment}),
	})
	w.around = f.cycle
	if f.before != noSegment {
		w.cycles[f.cycle].waited = w.waited(f.before)
	}
}

// maxTight is what all of a loop may cost to have the balance in a local.
const maxTight = 64

// tighten is the end of a loop. One that is small, and calls nothing, has the
// balance in a local, too: to read it from the variable, right after it was
// written there, would take longer than the rest of the round.
func (w *walk) tighten(c cycle) {
	if w.busy != c.busy || len(c.backs) == 0 {
		return
	}
	sum, inside := int32(0), w.m.segments[c.loads+1:]
	for i := range inside {
		sum += inside[i].price
	}
	if sum > maxTight {
		return
	}
	w.m.segments[c.loads].loads, w.balance = true, true
	for i := range inside {
		inside[i].local = true
	}
}

// again notes a jump back at the end of a segment.
func (c *cycle) again(from int, always bool) {
	c.backs = append(c.backs, from)
	c.maybe = c.maybe || !always
}

// rounds notes which segments are in a loop that goes round.
func (w *walk) rounds(segments []segment) {
	for i := range w.cycles {
		c := &w.cycles[i]
		c.round = len(c.backs) > 0 || c.around != noCycle && w.cycles[c.around].round
	}
	for i := range segments {
		s := &segments[i]
		s.round = s.cycle != noCycle && w.cycles[s.cycle].round
	}
}

// prepay has the heads of loops paid by those who come there: who enters, and
// who jumps back. Where nobody else pays in between, that makes one payment
// of two. Only those can who always go on to the head, so that what is paid in
// the end is the same.
func (w *walk) prepay() {
	for _, c := range slices.Backward(w.cycles) { // the inner ones first: where they begin may itself be a head
		if c.head == noSegment {
			continue
		}
		head := &w.m.segments[c.head]
		if len(c.backs) > 0 {
			head.look = lookHead
			if c.takes { // to go there once more, they would have to be kept
				head.look = lookOnce
			}
			w.m.loops = append(w.m.loops, loop{c.before, c.head, c.backs})
		}
		if c.maybe || c.before == noSegment || c.waited && head.price > maxReturned || w.m.mode == each {
			continue
		}
		payers := append(slices.Clip(c.backs), c.before)
		if slices.ContainsFunc(payers, func(i int) bool {
			return i == c.head || w.m.segments[i].moved || w.m.segments[i].price+head.price > maxSegment
		}) {
			continue
		}
		for _, i := range payers {
			w.m.segments[i].price += head.price
		}
		head.moved, head.price = true, 0
	}
}
