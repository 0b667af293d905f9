package meter

import "slices"

const noCycle = -1

// cycle is a loop to which something comes.
type cycle struct {
	before int   // segment in which it begins
	head   int   // segment that it begins with
	backs  []int // segments that end with a jump back
	maybe  bool  // some jump back need not be made
}

// cycle begins one: the segment that is opened next is its head.
func (w *walk) cycle() {
	f := &w.frames[len(w.frames)-1]
	f.cycle = len(w.cycles)
	w.begun = f.cycle
	w.cycles = append(w.cycles, cycle{before: f.before, head: noSegment})
}

// again notes a jump back at the end of a segment.
func (c *cycle) again(from int, always bool) {
	c.backs = append(c.backs, from)
	c.maybe = c.maybe || !always
}

// prepay has the heads of loops paid by those who come there: who enters, and
// who jumps back. Where nobody else pays in between, that makes one payment
// of two. Only those can who always go on to the head, so that what is paid in
// the end is the same.
func (w *walk) prepay() {
	if w.m.each {
		return
	}
	for _, c := range slices.Backward(w.cycles) { // the inner ones first: where they begin may itself be a head
		if c.maybe || c.head == noSegment || c.before == noSegment {
			continue
		}
		head := &w.segments[c.head]
		payers := append(c.backs, c.before)
		if slices.ContainsFunc(payers, func(i int) bool {
			return i == c.head || w.segments[i].moved || w.segments[i].price+head.price > maxSegment
		}) {
			continue
		}
		for _, i := range payers {
			w.segments[i].price += head.price
		}
		head.moved, head.price = true, 0
	}
}

// write fills in the amount. Nothing is left of a payment of nothing but its
// look at the balance.
func (s segment) write(out []byte) {
	if s.price > 0 {
		putPadded(out[s.at:], s.price)
		return
	}
	from := s.from
	if s.look {
		from = s.at - 1 // the balance is on the stack
	}
	for i := from; i < s.to; i++ {
		out[i] = 0x01 // nop
	}
}
