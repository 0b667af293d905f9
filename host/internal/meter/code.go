package meter

import (
	"encoding/binary"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// frame is an open block, loop or if, or the function itself.
type frame struct {
	op      wasm.Op
	dead    bool // its begin is unreachable
	reached bool // its end is reached by a jump, or from the then-branch of an if
	lowest  int  // outermost frame that a jump from inside targets
	segment int  // segment in which it begins
	loop    int  // index in walk.loops, for a loop
}

// walk walks through one function after the other and finds its segments. Unchanged
// bytes are copied in one piece before the next change.
type walk struct {
	wasm.Code

	m      *module
	body   []byte
	copied int // offset up to which body was copied to module.raw

	frames     []frame
	loops      []loopState
	newLoop    int  // loop whose head segment begins next
	innerLoop  int  // innermost loop around this instruction
	current    int  // segment of this instruction
	parent     int  // parent of the segment that begins next
	dead       bool // this instruction is unreachable
	complexOps int  // calls, loops and bulk operations so far

	needsLength, needsBalance bool // locals to add
}

// checkedBytes is how many bytes of code walk reads before it checks the memory again.
const checkedBytes = 1024

// function walks through a function with a body, and adds its code without payments, its
// segments, calls and loops to the analysis.
func (w *walk) function(i int) error {
	w.BeginBody(w.m.Module, i)
	*w = walk{
		Code: w.Code, m: w.m, body: w.m.Bodies[i], frames: w.frames[:0], loops: w.loops[:0],
		current: noSegment, parent: noSegment, newLoop: noLoop, innerLoop: noLoop,
	}
	all := &w.m.analysis
	// Its entries in the lists of the analysis begin at their present ends.
	f := function{from: len(all.raw), groups: w.Groups, locals: w.Locals, segments: len(all.segments), calls: len(all.calls), loops: len(all.loops)}
	w.copied = w.GroupsStart
	w.copyUpTo(w.Pos())
	f.code = len(all.raw)
	w.frames = append(w.frames, frame{op: wasm.OpBlock, lowest: 0})
	for looked := -checkedBytes; w.Next(); { // the memory is checked now and then, as a few bytes of code take little of it
		if w.Pos()-looked >= checkedBytes {
			if looked = w.Pos(); all.bytes() > w.m.maxMemory {
				return ErrMemory
			}
		}
		w.instruction()
	}
	if err := w.Err(); err != nil {
		return err // contains the position
	}
	w.copyUpTo(w.Pos())
	w.prepayHeads()
	w.markRepeating(all.segments[f.segments:])
	if w.m.mode == gathered {
		gather(all.segments, f.segments)
	}
	f.to, f.needsLength, f.needsBalance = len(all.raw), w.needsLength, w.needsBalance
	f.segmentsEnd, f.callsEnd, f.loopsEnd = len(all.segments), len(all.calls), len(all.loops)
	all.funcInfos = append(all.funcInfos, f)
	return nil
}

// copyUpTo copies the body up to an offset, before the caller writes something else.
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

// addPrice adds the price of this instruction to its segment.
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

// shouldPayAfterCall reports whether a new segment should begin here because of a
// call in this one. Otherwise code after deeply nested calls would be paid for long
// before it runs, and nothing would yield while they all return.
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

// callsSince reports whether there was a call since a segment began.
func (w *walk) callsSince(segment int) bool {
	return int(w.m.segments[segment].callsBefore) < len(w.m.calls)
}

// endSegment ends the current segment. The next one runs at most as often as parent, which
// may then pay for it.
func (w *walk) endSegment(parent int) { w.current, w.parent = noSegment, parent }

// beginSegment begins a segment, code with one payment at its begin, before this instruction.
// price is what the segment costs so far. The segment that ended here becomes its parent: it
// runs at least as often, so it may pay for both. The first segment of a loop is the loop's
// head.
func (w *walk) beginSegment(price int32) {
	w.current = w.newSegment(segment{parent: int32(w.parent), price: price})
	if w.newLoop != noLoop {
		w.loops[w.newLoop].head, w.newLoop = w.current, noLoop
	}
}

// newSegment adds a segment at this instruction.
func (w *walk) newSegment(s segment) int {
	w.copyUpTo(w.Offset)
	s.offset, s.loop, s.callsBefore = int32(len(w.m.raw)), int32(w.innerLoop), int32(len(w.m.calls))
	w.m.segments = append(w.m.segments, s)
	return len(w.m.segments) - 1
}

// payHostCall begins a segment before a host call. The balance is checked there,
// because the call may take long.
func (w *walk) payHostCall(price int32) {
	if !w.dead {
		w.complexOps++
		w.endSegment(w.current)
		w.beginSegment(price)
		w.m.segments[w.current].check = checkLoop
	}
}

// recordCall records a call of a function of this module, or an indirect call.
func (w *walk) recordCall(callee int) {
	if !w.dead {
		w.complexOps++
		w.m.segments[w.current].calls++
		w.copyUpTo(w.Pos())
		w.m.calls = append(w.m.calls, callSite{segment: int32(w.current), callee: int32(callee), end: int32(len(w.m.raw))})
	}
}

// instruction handles the current instruction: it pays for it, follows the flow, and
// replaces it if necessary.
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

// enterBlock begins a block, loop or if. The code of a plain block belongs to the segment
// before it.
func (w *walk) enterBlock() {
	if w.Op != wasm.OpIf && w.current == noSegment && !w.dead {
		w.beginSegment(0) // code after its end may belong to it
	}
	w.frames = append(w.frames, frame{op: w.Op, dead: w.dead, lowest: len(w.frames), segment: w.current})
	if w.Op == wasm.OpIf {
		w.endSegment(w.current)
	}
	if w.Op == wasm.OpLoop {
		w.endSegment(noSegment) // the head of a loop may run more often than any segment before
		if !w.dead {
			w.complexOps++
			w.beginLoop()
		}
	}
}

// recordJump records a jump, which is unconditional if always is set.
func (w *walk) recordJump(label uint32, always bool) {
	i := len(w.frames) - 1 - int(label)
	w.recordTarget(i)
	if f := &w.frames[i]; f.op == wasm.OpLoop && !w.dead {
		c := &w.loops[f.loop]
		w.addBackJump(c, w.current, always)
		c.afterCall = c.afterCall || w.callsSince(w.current)
	}
}

// recordTarget records that flow leads from here to the end of frame i, or to its begin if
// it is a loop.
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

// enterElse ends the then-branch, and begins the else-branch, which runs at most as often
// as the code before the if.
func (w *walk) enterElse() {
	f := &w.frames[len(w.frames)-1]
	f.op = wasm.OpElse
	f.reached = f.reached || !w.dead
	w.dead = f.dead
	w.endSegment(f.segment)
}

// leaveBlock ends a block, loop or if, and decides to which segment the code after it
// belongs.
func (w *walk) leaveBlock() {
	i := len(w.frames) - 1
	f := w.frames[i]
	w.frames = w.frames[:i]
	if i == 0 { // the function itself ends
		return
	}
	if f.op == wasm.OpLoop && !f.dead {
		c := w.loops[f.loop]
		w.innerLoop = c.outer
		w.keepBalanceInLocal(c)
	}
	w.newLoop = noLoop // the loop had nothing to pay for
	up := &w.frames[i-1]
	up.lowest = min(up.lowest, f.lowest)
	joined := f.reached || f.op == wasm.OpIf && !f.dead // without else, a false condition leads here
	switch {
	case f.dead, w.dead && !joined: // nothing leads to the code after the block
		w.dead = true
		return
	case f.lowest >= i && f.segment != noSegment:
		// No jump leaves the block for another target, so the code after it runs as
		// often as the code before it.
		w.current = f.segment
	case joined:
		w.endSegment(f.segment)
	}
	w.dead = false
}
