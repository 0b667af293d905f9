package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

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
	op       wasm.Op
	dead     bool // begins where nothing can come to
	targeted bool // its end is reached by a jump, or by the other arm of an if
	lowest   int  // outermost frame that a jump from inside goes to
	before   int  // segment in which it begins
	cycle    int  // of a loop: which of walk.cycles
}

// walk rewrites one function at a time. Bytes that do not change are copied
// late, in one go up to the next change.
type walk struct {
	wasm.Code

	m      *module
	body   []byte
	out    []byte
	copied int // up to here body is in out

	frames   []frame
	segments []segment
	cycles   []cycle
	begun    int  // cycle whose first payment comes next
	here     int  // segment of this instruction
	dead     bool // nothing comes to this instruction
	check    bool // the next payment looks at the balance
}

func (w *walk) function(i int) error {
	w.Begin(w.m.Module, i)
	*w = walk{
		Code: w.Code, m: w.m, body: w.m.Bodies[i],
		out: w.out[:0], frames: w.frames[:0], segments: w.segments[:0], cycles: w.cycles[:0], here: noSegment, begun: noCycle,
	}
	// The local behind all others holds the balance while it is looked at.
	w.out = binary.AppendUvarint(w.out, uint64(w.Groups+1))
	w.copied = w.First
	w.change(w.Pos())
	w.out = append(w.out, 1, wasm.I64)

	w.check = true
	w.frames = append(w.frames, frame{op: wasm.OpBlock, lowest: 0})
	for w.Next() {
		w.step()
	}
	if err := w.Err(); err != nil {
		return err // which says where
	}
	w.change(w.Pos())
	w.prepay()
	for _, s := range w.segments {
		s.write(w.out)
	}
	return nil
}

// change copies what comes before the given place; the caller then writes
// something else or something more.
func (w *walk) change(at int) {
	w.out = append(w.out, w.body[w.copied:at]...)
	w.copied = at
}

// instead replaces this instruction.
func (w *walk) instead(b ...byte) {
	w.change(w.At)
	w.out = append(w.out, b...)
	w.copied = w.Pos()
}

// pay adds a price to the payment that this instruction belongs to.
func (w *walk) pay(price int) {
	switch {
	case w.m.each:
		w.begin(price)
	case w.dead || price == 0:
	case w.here == noSegment || w.segments[w.here].price > maxSegment:
		w.begin(price)
	default:
		w.segments[w.here].price += price
	}
}

// begin begins a segment, with a payment before this instruction. The first one
// of a function looks whether the balance is used up, and so does the head of a
// loop: between two looks there is no more than a function without its loops.
func (w *walk) begin(price int) {
	w.change(w.At)
	c := asm{w.out}
	s := segment{from: len(c.b), look: w.check, price: price}
	c.take(w.m, func(c *asm) { c.op(0x42, 0, 0, 0, 0) }) // i64.const of four bytes, and i64.sub behind it
	s.at = len(c.b) - 5
	c.keep(w.m, w.Locals, w.check)
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
	if w.Op == wasm.OpCall && int(w.A) < w.m.Imported || w.Op == wasm.OpCallIndirect && w.m.tabled {
		w.look() // a function of the host may take its time
	}
	w.pay(int(prices[w.Op]))
	switch w.Op {
	case wasm.OpUnreachable:
		w.dead = true
	case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
		w.enter()
	case wasm.OpElse:
		w.otherwise()
	case wasm.OpEnd:
		w.leave()
	case wasm.OpBr:
		w.jump(w.A, true)
		w.dead = true
	case wasm.OpBrIf:
		w.jump(w.A, false)
		w.here = noSegment
	case wasm.OpBrTable:
		for _, label := range w.Labels {
			w.jump(label, false)
		}
		w.dead = true
	case wasm.OpReturn:
		w.target(0)
		w.dead = true
	case wasm.OpCall:
		w.instead(binary.AppendUvarint([]byte{byte(wasm.OpCall)}, uint64(w.m.shift(w.A)))...)
	case wasm.OpRefFunc:
		w.reference()
	default:
		if w.Op.Ranged() {
			w.ranged()
		}
	}
}

func (w *walk) enter() {
	if w.Op != wasm.OpIf && w.here == noSegment && !w.dead {
		// What comes behind its end may belong to it, and the head of a loop,
		// where the balance is looked at.
		w.check = w.check && w.Op == wasm.OpBlock
		w.begin(0)
	}
	w.frames = append(w.frames, frame{op: w.Op, dead: w.dead, lowest: len(w.frames), before: w.here})
	if w.Op != wasm.OpBlock {
		w.here = noSegment
	}
	if w.Op == wasm.OpLoop && !w.dead {
		w.cycle()
		w.change(w.Pos())
		c := asm{w.out}
		c.head(w.m, w.A > 0)
		w.out = c.b
	}
}

// jump is one that is always made, or may be made.
func (w *walk) jump(label uint32, always bool) {
	i := len(w.frames) - 1 - int(label)
	w.target(i)
	if f := &w.frames[i]; f.op == wasm.OpLoop && !w.dead {
		w.cycles[f.cycle].again(w.here, always)
	}
}

// target notes that flow goes from here to a frame.
func (w *walk) target(i int) {
	if w.dead {
		return
	}
	if f := &w.frames[i]; f.op != wasm.OpLoop {
		f.targeted = true
	}
	top := &w.frames[len(w.frames)-1]
	top.lowest = min(top.lowest, i)
}

func (w *walk) otherwise() {
	f := &w.frames[len(w.frames)-1]
	f.op = wasm.OpElse
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
	joined := f.targeted || f.op == wasm.OpIf && !f.dead // without else, the condition may jump here
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
