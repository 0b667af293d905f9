package meter

import "encoding/binary"

// maxSegment bounds what one payment may be: its place is four bytes wide.
const maxSegment = 1 << 26

// segment is a stretch of code with one payment, at its begin: whoever comes
// to one of its instructions comes to all of them.
type segment struct {
	from  int // where in walk.out the payment begins
	at    int // where its amount stands
	to    int // where it ends, but for the look at the balance
	look  bool
	moved bool // to those who come before
	price int
}

const noSegment = -1

// frame is a block, loop or if that is open, or the function itself.
type frame struct {
	op       byte
	dead     bool // begins where nothing can come to
	targeted bool // its end is reached by a jump, or by the other arm of an if
	lowest   int  // outermost frame that a jump from inside goes to
	before   int  // segment in which it begins
	cycle    int  // of a loop: which of walk.cycles
}

// walk rewrites one function at a time. Bytes that do not change are copied
// late, in one go up to the next change.
type walk struct {
	m      *module
	r      *reader
	out    []byte
	copied int // up to here r.b is in out
	locals int

	frames   []frame
	segments []segment
	cycles   []cycle
	begun    int  // cycle whose first payment comes next
	here     int  // segment of this instruction
	dead     bool // nothing comes to this instruction
	check    bool // the next payment looks at the balance
	branches int
}

func (w *walk) function(r *reader, params int) {
	*w = walk{m: w.m, r: r, out: w.out[:0], frames: w.frames[:0], segments: w.segments[:0], cycles: w.cycles[:0], locals: params, here: noSegment, begun: noCycle}
	groups := r.count("groups of locals", 2, maxLocals)
	w.copied = r.pos
	for n := groups; n > 0 && r.err == nil; n-- {
		more := r.u32()
		valueType(r)
		if uint64(w.locals)+uint64(more) > maxLocals {
			r.fail(ErrTooBig, "more than %d locals", maxLocals)
			return
		}
		w.locals += int(more)
	}
	// The local behind all others holds the balance while it is looked at.
	w.out = binary.AppendUvarint(w.out, uint64(groups+1))
	w.change(r.pos)
	w.out = append(w.out, 1, i64)

	w.check = true
	w.frames = append(w.frames, frame{op: 0x02, lowest: 0})
	for len(w.frames) > 0 && r.err == nil {
		w.step()
	}
	r.end()
	w.change(r.pos)
	w.prepay()
	for _, s := range w.segments {
		s.write(w.out)
	}
}

// change copies what comes before the given place; the caller then writes
// something else or something more.
func (w *walk) change(at int) {
	if w.r.err == nil {
		w.out = append(w.out, w.r.b[w.copied:at]...)
		w.copied = at
	}
}

// instead replaces what was read since the given place.
func (w *walk) instead(at int, b ...byte) {
	w.change(at)
	w.out = append(w.out, b...)
	w.copied = w.r.pos
}

// pay adds the price of the instruction at the given place to a payment.
func (w *walk) pay(at int, price int) {
	switch {
	case w.m.each:
		w.open(at, price)
	case w.dead || price == 0:
	case w.here == noSegment || w.segments[w.here].price > maxSegment:
		w.open(at, price)
	default:
		w.segments[w.here].price += price
	}
}

// open begins a segment, with a payment at the given place. The first one of
// a function and of a loop looks whether the balance is used up, so between
// two looks there is no more than a function without its loops.
func (w *walk) open(at int, price int) {
	w.change(at)
	c := asm{w.out}
	s := segment{from: len(c.b), look: w.check, price: price}
	c.take(w.m, func(c *asm) { c.op(0x42, 0, 0, 0, 0) }) // i64.const of four bytes, and i64.sub behind it
	s.at = len(c.b) - 5
	c.keep(w.m, w.locals, w.check)
	s.to = len(c.b)
	if w.check {
		c.fill(w.m)
	}
	w.out = c.b
	w.segments = append(w.segments, s)
	w.here = len(w.segments) - 1
	w.check = false
	if w.begun != noCycle {
		w.cycles[w.begun].head, w.begun = w.here, noCycle
	}
}

// look has the next payment made apart, and the balance looked at.
func (w *walk) look() {
	if !w.dead {
		w.here, w.check = noSegment, true
	}
}

func (w *walk) step() {
	r := w.r
	at := r.pos
	op := r.byte()
	in := plainSet[op]
	sub := uint32(op)
	if in.operand == opPrefix {
		sub = r.u32()
		// The engine takes the second byte for the whole opcode: spelled at
		// more length, it and the meter would see different code behind it.
		if n := r.pos - at; op == 0xfd && (n > 3 || n == 3 && sub < 0x80) {
			r.unsupported("instruction %#x %d at more length than it needs", op, sub)
		}
		switch {
		case op == 0xfc && sub < uint32(len(miscSet)):
			in = miscSet[sub]
		case op == 0xfd && sub < uint32(len(vectorSet)):
			in = vectorSet[sub]
		default:
			in = instruction{}
		}
	}
	if r.err != nil {
		return
	}
	callee := uint32(0)
	if in.operand == opFunc || in.operand == opReference {
		callee = r.index("function", len(w.m.funcs))
	}
	if op == 0x10 && int(callee) < w.m.imported || op == 0x11 && w.m.tabled {
		w.look() // a function of the host may take its time
	}
	w.pay(at, int(in.price))
	switch in.operand {
	case opUnknown:
		if sub != uint32(op) {
			r.unsupported("instruction %#x %d (%s)", op, sub, featureOf(op))
		} else {
			r.unsupported("instruction %#x (%s)", op, featureOf(op))
		}
	case opControl:
		w.control(at, op)
	case opReference:
		w.reference(at, callee)
	case opFunc:
		w.instead(at, binary.AppendUvarint([]byte{op}, uint64(w.m.shift(callee)))...)
	case opRange:
		w.ranged(at, byte(sub))
	default:
		w.operands(in.operand)
	}
}

func (w *walk) operands(o operand) {
	r := w.r
	switch o {
	case opLocal:
		r.index("local", w.locals)
	case opGlobal:
		r.index("global", w.m.globals)
	case opTable:
		r.index("table", len(w.m.tables))
	case opMemory:
		w.onlyMemory()
	case opAddress, opAddressLane:
		align := r.u32()
		if align >= 64 {
			r.unsupported("a second memory")
		} else if align > 4 {
			r.fail(ErrDamaged, "an alignment of 2^%d", align)
		}
		r.u32()
		if o == opAddressLane {
			r.byte()
		}
	case opLane:
		r.byte()
	case opI32:
		r.signed(32)
	case opI64:
		r.signed(64)
	case op4:
		r.take(4)
	case op8:
		r.take(8)
	case op16:
		r.take(16)
	case opTypes:
		for range r.count("types of select", 1, maxValues) {
			valueType(r)
		}
	case opRef:
		reference(r)
	case opIndex:
		r.u32()
	}
}

func (w *walk) onlyMemory() {
	if i := w.r.byte(); i != 0 {
		w.r.unsupported("a second memory")
	}
}

func (w *walk) control(at int, op byte) {
	r := w.r
	switch op {
	case 0x00: // unreachable
		w.dead = true
	case 0x02, 0x03, 0x04: // block loop if
		w.enter(at, op)
	case 0x05: // else
		w.otherwise()
	case 0x0b: // end
		w.leave()
	case 0x0c: // br
		w.jump(true)
		w.dead = true
	case 0x0d: // br_if
		w.branch(1)
		w.jump(false)
		w.here = noSegment
	case 0x0e: // br_table
		n := r.count("targets of br_table", 1, maxBranches)
		w.branch(n)
		for ; n >= 0 && r.err == nil; n-- { // the default target comes last
			w.jump(false)
		}
		w.dead = true
	case 0x0f: // return
		w.target(0)
		w.dead = true
	case 0x11: // call_indirect
		r.index("type", len(w.m.params))
		r.index("table", len(w.m.tables))
	}
}

// branch counts what splits the flow of a function.
func (w *walk) branch(n int) {
	w.branches += n
	if w.branches > maxBranches {
		w.r.fail(ErrTooBig, "more than %d branches in one function", maxBranches)
	}
}

func (w *walk) enter(at int, op byte) {
	if op != 0x04 && w.here == noSegment && !w.dead {
		// What comes behind its end may belong to it, and the head of a loop,
		// which is also where the balance is looked at.
		w.check = w.check && op == 0x02
		w.open(at, 0)
	}
	w.branch(1)
	switch t := w.r.signed(33); {
	case t >= int64(len(w.m.params)):
		w.r.fail(ErrDamaged, "a block of type %d, but there are %d", t, len(w.m.params))
	case t < -64, t < 0 && t != -64 && !isValue(byte(t&0x7f)): // -64: nothing
		w.r.unsupported("a block of type %d", t)
	}
	w.frames = append(w.frames, frame{op: op, dead: w.dead, lowest: len(w.frames), before: w.here})
	if op != 0x02 {
		w.here = noSegment
	}
	if op == 0x03 && !w.dead {
		w.check = true
		w.cycle()
	}
}

// jump is one that is always made, or may be made.
func (w *walk) jump(always bool) {
	d := w.r.index("label", len(w.frames))
	if w.r.err != nil {
		return
	}
	i := len(w.frames) - 1 - int(d)
	w.target(i)
	if f := &w.frames[i]; f.op == 0x03 && !w.dead {
		w.cycles[f.cycle].again(w.here, always)
	}
}

// target notes that flow goes from here to a frame.
func (w *walk) target(i int) {
	if w.dead {
		return
	}
	if f := &w.frames[i]; f.op != 0x03 {
		f.targeted = true
	}
	top := &w.frames[len(w.frames)-1]
	top.lowest = min(top.lowest, i)
}

func (w *walk) otherwise() {
	f := &w.frames[len(w.frames)-1]
	if f.op != 0x04 {
		w.r.fail(ErrDamaged, "else without if")
		return
	}
	f.op = 0x05
	f.targeted = f.targeted || !w.dead
	w.dead = f.dead
	w.here = noSegment
}

func (w *walk) leave() {
	i := len(w.frames) - 1
	f := w.frames[i]
	w.frames = w.frames[:i]
	if i == 0 {
		return
	}
	w.begun = noCycle // a loop without anything to pay for
	up := &w.frames[i-1]
	up.lowest = min(up.lowest, f.lowest)
	joined := f.targeted || f.op == 0x04 && !f.dead // without else, the condition may jump here
	switch {
	case f.dead, w.dead && !joined:
		w.dead = true
		return
	case f.lowest >= i && f.before != noSegment:
		// Nothing jumps past this end: what follows runs as often as what
		// was before.
		w.here = f.before
	case joined:
		w.here = noSegment
	}
	w.dead = false
}
