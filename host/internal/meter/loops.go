package meter

import "slices"

const noLoop = -1

// loopState is a loop to which something comes.
type loopState struct {
	outer       int   // innermost cycle around it
	before      int   // segment in which it begins
	hasParams   bool  // it has parameters
	head        int   // segment that it begins with
	backJumps   []int // segments that end with a jump back
	conditional bool  // some jump back need not be made
	complexOps  int   // what walk.busy was
	loadSegment int   // segment in which the balance may be loaded
	afterCall   bool  // there was a call in what leads to its begin
	repeats     bool  // it goes round, or one around it does
}

// beginLoop begins one: the segment that is opened next is its head.
func (w *walk) beginLoop() {
	f := &w.frames[len(w.frames)-1]
	f.loop = len(w.loops)
	w.newLoop = f.loop
	w.loops = append(w.loops, loopState{
		outer: w.innerLoop, before: f.segment, head: noSegment, hasParams: w.A > 0, complexOps: w.complexOps, loadSegment: w.newSegment(segment{parent: noSegment}),
	})
	w.innerLoop = f.loop
	if f.segment != noSegment {
		w.loops[f.loop].afterCall = w.callsSince(f.segment)
	}
}

// maxTight is what all of a loop may cost to have the balance in a local.
const maxTight = 64

// keepBalanceInLocal is the end of a loop. One that is small, and calls nothing, has the
// balance in a local, too: to read it from the variable, right after it was
// written there, would take longer than the rest of the round.
func (w *walk) keepBalanceInLocal(c loopState) {
	if w.complexOps != c.complexOps || len(c.backJumps) == 0 {
		return
	}
	sum, inside := int32(0), w.m.segments[c.loadSegment+1:]
	for i := range inside {
		sum += inside[i].price
	}
	if sum > maxTight {
		return
	}
	w.m.segments[c.loadSegment].loadsBalance, w.needsBalance = true, true
	for i := range inside {
		inside[i].balanceInLocal = true
	}
}

// addBackJump notes a jump back at the end of a segment.
func (c *loopState) addBackJump(from int, always bool) {
	c.backJumps = append(c.backJumps, from)
	c.conditional = c.conditional || !always
}

// markRepeating notes which segments are in a loop that goes round.
func (w *walk) markRepeating(segments []segment) {
	for i := range w.loops {
		c := &w.loops[i]
		c.repeats = len(c.backJumps) > 0 || c.outer != noLoop && w.loops[c.outer].repeats
	}
	for i := range segments {
		s := &segments[i]
		s.repeats = s.loop != noLoop && w.loops[s.loop].repeats
	}
}

// prepayHeads has the heads of loops paid by those who come there: who enters, and
// who jumps back. Where nobody else pays in between, that makes one payment
// of two. Only those can who always go on to the head, so that what is paid in
// the end is the same.
func (w *walk) prepayHeads() {
	for _, c := range slices.Backward(w.loops) { // the inner ones first: where they begin may itself be a head
		if c.head == noSegment {
			continue
		}
		head := &w.m.segments[c.head]
		if len(c.backJumps) > 0 {
			head.check = checkHead
			if c.hasParams { // to go there once more, they would have to be kept
				head.check = checkLoop
			}
			w.m.loops = append(w.m.loops, loop{c.before, c.head, c.backJumps})
		}
		if c.conditional || c.before == noSegment || c.afterCall && head.price > maxReturned || w.m.mode == perInstruction {
			continue
		}
		payers := append(slices.Clip(c.backJumps), c.before)
		if slices.ContainsFunc(payers, func(i int) bool {
			return i == c.head || w.m.segments[i].paidElsewhere || w.m.segments[i].price+head.price > maxSegment
		}) {
			continue
		}
		for _, i := range payers {
			w.m.segments[i].price += head.price
		}
		head.paidElsewhere, head.price = true, 0
	}
}
