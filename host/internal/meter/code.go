package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// frame is a block, loop or if that is open, or the function itself.
type frame struct {
	op      wasm.Op
	dead    bool // begins where nothing can come to
	reached bool // its end is reached by a jump, or by the other arm of an if
	lowest  int  // outermost frame that a jump from inside goes to
	segment int  // segment in which it begins
	loop    int  // of a loop: which of walk.cycles
}

// walk goes through one function at a time and finds its segments. Bytes that
// do not change are copied late, in one go up to the next change.
type walk struct {
	wasm.Code

	m      *module
	body   []byte
	copied int // up to here body is in module.raw

	frames     []frame
	loops      []loopState
	newLoop    int  // cycle whose first payment comes next
	innerLoop  int  // innermost cycle around this instruction
	current    int  // segment of this instruction
	parent     int  // of the segment that begins next
	dead       bool // nothing comes to this instruction
	complexOps int  // calls and loops so far

	needsLength, needsBalance bool // kept in locals
}

func (w *walk) function(i int) error {
	w.BeginBody(w.m.Module, i)
	*w = walk{
		Code: w.Code, m: w.m, body: w.m.Bodies[i], frames: w.frames[:0], loops: w.loops[:0],
		current: noSegment, parent: noSegment, newLoop: noLoop, innerLoop: noLoop,
	}
	all := &w.m.analysis
	f := function{from: len(all.raw), groups: w.Groups, locals: w.Locals, segments: len(all.segments), calls: len(all.calls), loops: len(all.loops)}
	w.copied = w.GroupsStart
	w.copyUpTo(w.Pos())
	f.code = len(all.raw)
	w.frames = append(w.frames, frame{op: wasm.OpBlock, lowest: 0})
	for w.Next() {
		w.instruction()
	}
	if err := w.Err(); err != nil {
		return err // which says where
	}
	w.copyUpTo(w.Pos())
	w.prepayHeads()
	w.markRepeating(all.segments[f.segments:])
	if w.m.mode == gathered {
		gather(all.segments, f.segments)
	}
	f.to, f.needsLength, f.needsBalance = len(all.raw), w.needsLength, w.needsBalance
	all.funcInfos = append(all.funcInfos, f)
	return nil
}

// copyUpTo copies what comes before the given place; the caller then writes
// something else or something more.
func (w *walk) copyUpTo(offset int) {
	w.m.raw = append(w.m.raw, w.body[w.copied:offset]...)
	w.copied = offset
}

// replaceInstruction replaces this instruction.
func (w *walk) replaceInstruction(b ...byte) {
	w.copyUpTo(w.Offset)
	w.m.raw = append(w.m.raw, b...)
	w.copied = w.Pos()
}

// addPrice adds a price to the payment that this instruction belongs to.
func (w *walk) addPrice(price int32) {
	switch {
	case w.dead || price == 0:
	case w.current == noSegment:
		w.beginSegment(price)
	case w.m.mode == perInstruction || w.m.segments[w.current].full():
		w.endSegment(w.current)
		w.beginSegment(price)
	case w.shouldPayAfterCall(price):
		w.endSegment(w.current)
		w.beginSegment(price)
	default:
		w.m.segments[w.current].price += price
	}
}

// shouldPayAfterCall says whether an instruction shall not belong to the segment, as
// there was a call since that began: what comes behind calls that nest deep
// would be paid long before it runs, and nothing reported while all return.
func (w *walk) shouldPayAfterCall(price int32) bool {
	s := &w.m.segments[w.current]
	if !w.callsSince(w.current) {
		return false
	}
	if w.Op == wasm.OpCall {
		price += maxPrepaid
	}
	s.priceSinceCall += price
	return s.priceSinceCall > maxReturned
}

// callsSince says whether there was a call since a segment began.
func (w *walk) callsSince(segment int) bool {
	return int(w.m.segments[segment].callsBefore) < len(w.m.calls)
}

// endSegment is where another segment begins, which runs at most as often as the
// given one.
func (w *walk) endSegment(parent int) { w.current, w.parent = noSegment, parent }

// beginSegment begins a segment before this instruction.
func (w *walk) beginSegment(price int32) {
	w.current = w.newSegment(segment{parent: int32(w.parent), price: price})
	if w.newLoop != noLoop {
		w.loops[w.newLoop].head, w.newLoop = w.current, noLoop
	}
}

func (w *walk) newSegment(s segment) int {
	w.copyUpTo(w.Offset)
	s.offset, s.loop, s.callsBefore = int32(len(w.m.raw)), int32(w.innerLoop), int32(len(w.m.calls))
	w.m.segments = append(w.m.segments, s)
	return len(w.m.segments) - 1
}

// payHostCall is before a call of a function of the host, which may take its time:
// the balance is looked at.
func (w *walk) payHostCall(price int32) {
	if !w.dead {
		w.complexOps++
		w.endSegment(w.current)
		w.beginSegment(price)
		w.m.segments[w.current].check = checkLoop
	}
}

// recordCall is behind a call of a function of this module, or of any.
func (w *walk) recordCall(callee int) {
	if !w.dead {
		w.complexOps++
		w.m.segments[w.current].calls++
		w.copyUpTo(w.Pos())
		w.m.calls = append(w.m.calls, callSite{segment: int32(w.current), callee: int32(callee), end: int32(len(w.m.raw))})
	}
}

func (w *walk) instruction() {
	if w.Op == wasm.OpCall && int(w.A) < w.m.Imported || w.Op == wasm.OpCallIndirect && w.m.hostFuncInTable {
		w.payHostCall(int32(prices[w.Op]))
	} else {
		w.addPrice(int32(prices[w.Op]))
	}
	switch w.Op {
	case wasm.OpUnreachable:
		w.dead = true
	case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
		w.enterBlock()
	case wasm.OpElse:
		w.enterElse()
	case wasm.OpEnd:
		w.leaveBlock()
	case wasm.OpBr:
		w.recordJump(w.A, true)
		w.dead = true
	case wasm.OpBrIf:
		w.recordJump(w.A, false)
		w.endSegment(w.current)
	case wasm.OpBrTable:
		for _, label := range w.Labels {
			w.recordJump(label, false)
		}
		w.dead = true
	case wasm.OpReturn:
		w.recordTarget(0)
		w.dead = true
	case wasm.OpCallIndirect:
		w.recordCall(unknown)
	case wasm.OpCall:
		w.replaceInstruction(binary.AppendUvarint([]byte{byte(wasm.OpCall)}, uint64(w.m.shiftIndex(w.A)))...)
		if f := int(w.A) - w.m.Imported; f >= 0 {
			w.recordCall(f)
		}
	case wasm.OpRefFunc:
		w.reference()
	default:
		if w.Op.IsBulk() {
			w.complexOps++
			w.replaceBulk()
		}
	}
}

func (w *walk) enterBlock() {
	if w.Op != wasm.OpIf && w.current == noSegment && !w.dead {
		w.beginSegment(0) // what comes behind its end may belong to it
	}
	w.frames = append(w.frames, frame{op: w.Op, dead: w.dead, lowest: len(w.frames), segment: w.current})
	if w.Op == wasm.OpIf {
		w.endSegment(w.current)
	}
	if w.Op == wasm.OpLoop {
		w.endSegment(noSegment)
		if !w.dead {
			w.complexOps++
			w.beginLoop()
		}
	}
}

// recordJump is one that is always made, or may be made.
func (w *walk) recordJump(label uint32, always bool) {
	i := len(w.frames) - 1 - int(label)
	w.recordTarget(i)
	if f := &w.frames[i]; f.op == wasm.OpLoop && !w.dead {
		c := &w.loops[f.loop]
		c.addBackJump(w.current, always)
		c.afterCall = c.afterCall || w.callsSince(w.current)
	}
}

// recordTarget notes that flow goes from here to a frame.
func (w *walk) recordTarget(i int) {
	if w.dead {
		return
	}
	if f := &w.frames[i]; f.op != wasm.OpLoop {
		f.reached = true
	}
	top := &w.frames[len(w.frames)-1]
	top.lowest = min(top.lowest, i)
}

func (w *walk) enterElse() {
	f := &w.frames[len(w.frames)-1]
	f.op = wasm.OpElse
	f.reached = f.reached || !w.dead
	w.dead = f.dead
	w.endSegment(f.segment)
}

func (w *walk) leaveBlock() {
	i := len(w.frames) - 1
	f := w.frames[i]
	w.frames = w.frames[:i]
	if i == 0 {
		return
	}
	if f.op == wasm.OpLoop && !f.dead {
		c := w.loops[f.loop]
		w.innerLoop = c.outer
		w.keepBalanceInLocal(c)
	}
	w.newLoop = noLoop // a loop without anything to pay for
	up := &w.frames[i-1]
	up.lowest = min(up.lowest, f.lowest)
	joined := f.reached || f.op == wasm.OpIf && !f.dead // without else, the condition may jump here
	switch {
	case f.dead, w.dead && !joined:
		w.dead = true
		return
	case f.lowest >= i && f.segment != noSegment:
		// Nothing jumps past this end: what follows runs as often as what
		// was before.
		w.current = f.segment
	case joined:
		w.endSegment(f.segment)
	}
	w.dead = false
}
