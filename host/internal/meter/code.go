package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// frame is a block, loop or if that is open, or the function itself.
type frame struct {
	op       wasm.Op
	dead     bool // begins where nothing can come to
	targeted bool // its end is reached by a jump, or by the other arm of an if
	lowest   int  // outermost frame that a jump from inside goes to
	before   int  // segment in which it begins
	cycle    int  // of a loop: which of walk.cycles
}

// walk goes through one function at a time and finds its segments. Bytes that
// do not change are copied late, in one go up to the next change.
type walk struct {
	wasm.Code

	m      *module
	body   []byte
	copied int // up to here body is in module.raw

	frames []frame
	cycles []cycle
	begun  int  // cycle whose first payment comes next
	around int  // innermost cycle around this instruction
	here   int  // segment of this instruction
	parent int  // of the segment that begins next
	dead   bool // nothing comes to this instruction
	busy   int  // calls and loops so far

	length, balance bool // kept in locals
}

func (w *walk) function(i int) error {
	w.Begin(w.m.Module, i)
	*w = walk{
		Code: w.Code, m: w.m, body: w.m.Bodies[i], frames: w.frames[:0], cycles: w.cycles[:0],
		here: noSegment, parent: noSegment, begun: noCycle, around: noCycle,
	}
	all := &w.m.walked
	f := function{from: len(all.raw), groups: w.Groups, locals: w.Locals, segments: len(all.segments), calls: len(all.calls), loops: len(all.loops)}
	w.copied = w.First
	w.change(w.Pos())
	f.code = len(all.raw)
	w.frames = append(w.frames, frame{op: wasm.OpBlock, lowest: 0})
	for w.Next() {
		w.step()
	}
	if err := w.Err(); err != nil {
		return err // which says where
	}
	w.change(w.Pos())
	w.prepay()
	w.rounds(all.segments[f.segments:])
	if w.m.mode == together {
		gather(all.segments, f.segments)
	}
	f.to, f.length, f.balance = len(all.raw), w.length, w.balance
	all.all = append(all.all, f)
	return nil
}

// change copies what comes before the given place; the caller then writes
// something else or something more.
func (w *walk) change(at int) {
	w.m.raw = append(w.m.raw, w.body[w.copied:at]...)
	w.copied = at
}

// instead replaces this instruction.
func (w *walk) instead(b ...byte) {
	w.change(w.At)
	w.m.raw = append(w.m.raw, b...)
	w.copied = w.Pos()
}

// pay adds a price to the payment that this instruction belongs to.
func (w *walk) pay(price int32) {
	switch {
	case w.dead || price == 0:
	case w.here == noSegment:
		w.begin(price)
	case w.m.mode == each || w.m.segments[w.here].full():
		w.split(w.here)
		w.begin(price)
	case w.returned(price):
		w.split(w.here)
		w.begin(price)
	default:
		w.m.segments[w.here].price += price
	}
}

// returned says whether an instruction shall not belong to the segment, as
// there was a call since that began: what comes behind calls that nest deep
// would be paid long before it runs, and nothing reported while all return.
func (w *walk) returned(price int32) bool {
	s := &w.m.segments[w.here]
	if !w.waited(w.here) {
		return false
	}
	if w.Op == wasm.OpCall {
		price += maxPrepaid
	}
	s.since += price
	return s.since > maxReturned
}

// waited says whether there was a call since a segment began.
func (w *walk) waited(segment int) bool { return int(w.m.segments[segment].before) < len(w.m.calls) }

// split is where another segment begins, which runs at most as often as the
// given one.
func (w *walk) split(parent int) { w.here, w.parent = noSegment, parent }

// begin begins a segment before this instruction.
func (w *walk) begin(price int32) {
	w.here = w.mark(segment{parent: int32(w.parent), price: price})
	if w.begun != noCycle {
		w.cycles[w.begun].head, w.begun = w.here, noCycle
	}
}

func (w *walk) mark(s segment) int {
	w.change(w.At)
	s.at, s.cycle, s.before = int32(len(w.m.raw)), int32(w.around), int32(len(w.m.calls))
	w.m.segments = append(w.m.segments, s)
	return len(w.m.segments) - 1
}

// host is before a call of a function of the host, which may take its time:
// the balance is looked at.
func (w *walk) host(price int32) {
	if !w.dead {
		w.busy++
		w.split(w.here)
		w.begin(price)
		w.m.segments[w.here].look = lookOnce
	}
}

// called is behind a call of a function of this module, or of any.
func (w *walk) called(callee int) {
	if !w.dead {
		w.busy++
		w.m.segments[w.here].calls++
		w.change(w.Pos())
		w.m.calls = append(w.m.calls, callSite{segment: int32(w.here), callee: int32(callee), behind: int32(len(w.m.raw))})
	}
}

func (w *walk) step() {
	if w.Op == wasm.OpCall && int(w.A) < w.m.Imported || w.Op == wasm.OpCallIndirect && w.m.tabled {
		w.host(int32(prices[w.Op]))
	} else {
		w.pay(int32(prices[w.Op]))
	}
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
		w.split(w.here)
	case wasm.OpBrTable:
		for _, label := range w.Labels {
			w.jump(label, false)
		}
		w.dead = true
	case wasm.OpReturn:
		w.target(0)
		w.dead = true
	case wasm.OpCallIndirect:
		w.called(unknown)
	case wasm.OpCall:
		w.instead(binary.AppendUvarint([]byte{byte(wasm.OpCall)}, uint64(w.m.shift(w.A)))...)
		if f := int(w.A) - w.m.Imported; f >= 0 {
			w.called(f)
		}
	case wasm.OpRefFunc:
		w.reference()
	default:
		if w.Op.Ranged() {
			w.busy++
			w.ranged()
		}
	}
}

func (w *walk) enter() {
	if w.Op != wasm.OpIf && w.here == noSegment && !w.dead {
		w.begin(0) // what comes behind its end may belong to it
	}
	w.frames = append(w.frames, frame{op: w.Op, dead: w.dead, lowest: len(w.frames), before: w.here})
	if w.Op == wasm.OpIf {
		w.split(w.here)
	}
	if w.Op == wasm.OpLoop {
		w.split(noSegment)
		if !w.dead {
			w.busy++
			w.cycle()
		}
	}
}

// jump is one that is always made, or may be made.
func (w *walk) jump(label uint32, always bool) {
	i := len(w.frames) - 1 - int(label)
	w.target(i)
	if f := &w.frames[i]; f.op == wasm.OpLoop && !w.dead {
		c := &w.cycles[f.cycle]
		c.again(w.here, always)
		c.waited = c.waited || w.waited(w.here)
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
	w.split(f.before)
}

func (w *walk) leave() {
	i := len(w.frames) - 1
	f := w.frames[i]
	w.frames = w.frames[:i]
	if i == 0 {
		return
	}
	if f.op == wasm.OpLoop && !f.dead {
		c := w.cycles[f.cycle]
		w.around = c.around
		w.tighten(c)
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
		w.split(f.before)
	}
	w.dead = false
}
