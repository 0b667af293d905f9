package meter

import "slices"

const noLoop = -1

// loopState is a reachable loop.
type loopState struct {
	outer       int   // innermost loop around it
	before      int   // segment in which it begins
	hasParams   bool  // the loop has parameters
	head        int   // its first segment
	backJumps   []int // segments that end with a jump to its begin
	conditional bool  // a jump to its begin is conditional
	complexOps  int   // walk.complexOps at its begin
	loadSegment int   // segment in which the balance may be loaded into a local
	afterCall   bool  // a segment that leads to its begin has a call
	repeats     bool  // it has a jump to its begin, or a loop around it has one
}

// beginLoop begins a loop. Its head is the next segment.
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

// maxTight is the maximum price of a loop that keeps the balance in a local.
const maxTight = 64

// keepBalanceInLocal handles the end of a loop. A small loop without calls keeps the
// balance in a local as well: reading the variable right after writing it would take
// longer than the rest of the iteration.
func (w *walk) keepBalanceInLocal(c loopState) {
	if w.complexOps != c.complexOps || len(c.backJumps) == 0 { // it has calls or other loops, or does not repeat
		return
	}
	sum, inside := int32(0), w.m.segments[c.loadSegment+1:] // all segments since then are in the loop
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

// addBackJump records a jump to the begin of a loop at the end of a segment. Of the labels of a
// br_table only one counts.
func (w *walk) addBackJump(c *loopState, from int, always bool) {
	if n := len(c.backJumps); n == 0 || c.backJumps[n-1] != from {
		c.backJumps = append(c.backJumps, from)
		w.m.backJumps++
	}
	c.conditional = c.conditional || !always
}

// markRepeating marks the segments of a function that are in a loop with a jump back, or
// in a loop within such a loop.
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

// prepayHeads moves the payment for the head of a loop to the segments that lead to
// it: the one before the loop and those that jump back. Two payments become one
// where no other segment lies between. The sum stays the same only if these segments
// always continue with the head.
func (w *walk) prepayHeads() {
	for _, c := range slices.Backward(w.loops) { // inner loops first: they may begin in the head of an outer one
		if c.head == noSegment {
			continue
		}
		head := &w.m.segments[c.head]
		if len(c.backJumps) > 0 {
			head.check = checkHead
			if c.hasParams { // starting the loop again would need its parameters
				head.check = checkLoop
			}
			w.m.loops = append(w.m.loops, loop{c.before, c.head, c.backJumps})
		}
		// After a call, code must be paid for shortly before it runs; see shouldPayAfterCall.
		if c.conditional || c.before == noSegment || c.afterCall && head.price > maxReturned || w.m.mode == perInstruction {
			continue
		}
		// No payer may be the head itself, have its own payment elsewhere, or become too large.
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
