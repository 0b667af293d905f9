package meter

import (
	"encoding/binary"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Work of any length goes in pieces, each paid for on its own.
const (
	pieceBytes   = 64 << 10
	pieceEntries = 8 << 10 // of a table, eight bytes each
	bytesShift   = 3       // eight bytes for one of fuel
	pageShift    = 16 - bytesShift
)

// rangeOp is an instruction on a range, with what it works on.
type rangeOp struct {
	op   wasm.Op
	a, b uint32 // its operands
}

// maxHelpers bounds the functions added.
const maxHelpers = 1_000

// helper is a function added to the module. Its name is for stack traces.
type helper struct {
	name                  string
	params, results, body []byte
}

var rangeNames = map[wasm.Op]string{ // read only
	wasm.OpMemoryInit: "memory.init", wasm.OpMemoryCopy: "memory.copy", wasm.OpMemoryFill: "memory.fill",
	wasm.OpTableInit: "table.init", wasm.OpTableCopy: "table.copy", wasm.OpTableFill: "table.fill",
}

// ranged replaces an instruction on a range by a call.
func (w *walk) ranged() {
	m, op := w.m, rangeOp{w.Op, w.A, w.B}
	i, known := m.helperOf[op]
	if !known {
		i = m.firstHelper() + uint32(len(m.helpers))
		if len(m.helpers) == maxHelpers {
			w.Fail(wasm.TooBig, "more than %d kinds of work of any length", maxHelpers)
			return
		}
		m.helperOf[op] = i
		m.helpers = append(m.helpers, m.helperFor(op))
	}
	c := &asm{}
	if short := w.Op == wasm.OpMemoryFill || w.Op == wasm.OpMemoryCopy; short && !w.dead {
		w.short(c, op, int(i))
	} else {
		c.index(0x10, int(i))
	}
	w.instead(c.b...)
}

// maxShort is how many bytes are filled or copied without calling a function
// for it.
const maxShort = 4 << 10

// short has an instruction that is about few bytes pay and run where it stands:
// each function that fills or copies begins by saving all registers that the
// engine has, and a loop around a call would do that in each round.
func (w *walk) short(c *asm, op rangeOp, helper int) {
	s := &w.m.segments[w.here]
	s.bulk += maxShort >> bytesShift
	s.calls++
	w.length = true
	if w.m.ranges == nil {
		w.m.ranges = appendSigned(nil, int64(w.m.types.n)) // as a block names it
		w.m.addType([]byte{wasm.I32, wasm.I32, wasm.I32}, nil)
	}
	c.index(0x22, w.Locals)
	c.get(w.Locals)
	c.i32(maxShort)
	c.op(0x4b, 0x04) // i32.gt_u if
	c.op(w.m.ranges...)
	c.index(0x10, helper)
	c.op(0x05) // else
	c.charge(w.m, noLocal, func(c *asm) {
		c.wide(w.Locals)
		c.i64(bytesShift)
		c.op(0x88) // i64.shr_u
	})
	c.ranged(op)
	c.op(0x0b)
}

// added are the functions added to the module: the refill, the helpers behind
// it, and the call of the start function. To export that itself would allow it
// another type, and references that the original did not declare.
func (m *module) added() []helper {
	all := slices.Concat([]helper{{name: Reserved + ".refill", body: m.refillBody()}}, m.helpers, m.paying)
	if m.Start != nil {
		c := &asm{b: []byte{0}}
		c.index(0x10, int(m.shift(*m.Start)))
		c.op(0x0b)
		all = append(all, helper{name: ExportStart, body: c.b})
	}
	return all
}

// Their indexes; yield is the last import.
func (m *module) yield() uint32       { return uint32(m.Imported) }
func (m *module) refill() uint32      { return uint32(len(m.Funcs)) + 1 }
func (m *module) firstHelper() uint32 { return uint32(len(m.Funcs)) + 2 }

func (m *module) helperFor(op rangeOp) helper {
	value := byte(wasm.I32)
	switch op.op {
	case wasm.OpMemoryGrow:
		return helper{"memory.grow", []byte{wasm.I32}, []byte{wasm.I32}, m.growMemory()}
	case wasm.OpTableGrow:
		return helper{"table.grow", []byte{m.Tables[op.a].Elem, wasm.I32}, []byte{wasm.I32}, m.growTable(op.a)}
	case wasm.OpTableFill:
		value = m.Tables[op.a].Elem
	default: // all others take three numbers
	}
	return helper{rangeNames[op.op], []byte{wasm.I32, value, wasm.I32}, nil, m.inPieces(op)}
}

// growMemory grows at once, as a part of it could not be taken back, and pays
// for what it got before the guest can touch it.
func (m *module) growMemory() []byte {
	const pages, result = 0, 1
	c := &asm{b: []byte{1, 1, wasm.I32}}
	c.get(pages)
	c.op(0x40, 0)
	c.grown(m, result, func(c *asm) {
		c.wide(pages)
		c.i64(pageShift)
		c.op(0x86) // i64.shl
	})
	return c.b
}

// growTable does the same for a table, up to the bound.
func (m *module) growTable(table uint32) []byte {
	const entries, result = 1, 2
	c := &asm{b: []byte{1, 1, wasm.I32}}
	c.wide(entries)
	c.size(table)
	c.op(0xad, 0x7c) // i64.extend_i32_u i64.add
	c.i64(int64(m.maxTable))
	c.op(0x56, 0x04, 0x40) // i64.gt_u if
	c.i32(-1)
	c.op(0x0f, 0x0b) // return end
	c.get(0)
	c.get(entries)
	c.misc(wasm.OpTableGrow, int(table))
	c.grown(m, result, func(c *asm) { c.wide(entries) })
	return c.b
}

// grown ends a function that tried to grow something: it pays if that worked.
func (c *asm) grown(m *module, result int, amount func(*asm)) {
	c.index(0x22, result)
	c.i32(-1)
	c.op(0x47, 0x04, 0x40) // i32.ne if
	c.charge(m, noLocal, amount)
	c.look(m, noLocal)
	c.op(0x0b)
	c.get(result)
	c.op(0x0b)
}

func (c *asm) misc(op wasm.Op, operands ...int) {
	c.op(0xfc, byte(op))
	for _, o := range operands {
		c.b = binary.AppendUvarint(c.b, uint64(o))
	}
}

func (c *asm) size(table uint32) { c.misc(16, int(table)) }

// The parameters of an instruction on a range.
const to, from, length = 0, 1, 2

// inPieces is the body for filling, copying and initializing. An instruction
// that would trap does so before it writes anything, so a long range is
// checked as a whole before its first piece.
func (m *module) inPieces(op rangeOp) []byte {
	piece, shift := int32(pieceBytes), int64(bytesShift)
	if op.op == wasm.OpTableInit || op.op == wasm.OpTableCopy || op.op == wasm.OpTableFill {
		piece, shift = pieceEntries, 0
	}
	fixed := func(c *asm) { c.i64(int64(piece) >> shift) }
	more := func(c *asm) {
		c.get(length)
		c.i32(piece)
		c.op(0x4b) // i32.gt_u
	}

	c := &asm{b: []byte{0}}
	more(c)
	c.op(0x04, 0x40) // if
	c.wholly(op)
	copies := op.op == wasm.OpMemoryCopy || op.op == wasm.OpTableCopy
	if copies { // ranges may overlap
		c.get(to)
		c.get(from)
		c.op(0x4d, 0x04, 0x40) // i32.le_u if
	}
	c.op(0x03, 0x40) // loop
	c.look(m, noLocal)
	c.charge(m, noLocal, fixed)
	c.get(to)
	c.get(from)
	c.i32(piece)
	c.ranged(op)
	c.advance(to, piece)
	if op.op != wasm.OpMemoryFill && op.op != wasm.OpTableFill {
		c.advance(from, piece)
	}
	c.advance(length, -piece)
	more(c)
	c.op(0x0d, 0, 0x0b) // br_if end
	if copies {
		c.op(0x05, 0x03, 0x40) // else loop
		c.look(m, noLocal)
		c.charge(m, noLocal, fixed)
		c.advance(length, -piece)
		for _, start := range []int{to, from} {
			c.get(start)
			c.get(length)
			c.op(0x6a) // i32.add
		}
		c.i32(piece)
		c.ranged(op)
		more(c)
		c.op(0x0d, 0, 0x0b, 0x0b) // br_if end end
	}
	c.op(0x0b)
	c.look(m, noLocal)
	c.charge(m, noLocal, func(c *asm) {
		c.wide(length)
		c.i64(shift)
		c.op(0x88) // i64.shr_u
	})
	c.get(to)
	c.get(from)
	c.get(length)
	c.ranged(op)
	c.op(0x0b)
	return c.b
}

func (c *asm) advance(local int, by int32) {
	c.get(local)
	c.i32(by)
	c.op(0x6a)
	c.set(local)
}

// ranged writes the instruction itself.
func (c *asm) ranged(op rangeOp) {
	switch op.op {
	case wasm.OpMemoryInit:
		c.misc(op.op, int(op.a), 0)
	case wasm.OpMemoryCopy:
		c.misc(op.op, 0, 0)
	case wasm.OpMemoryFill:
		c.misc(op.op, 0)
	case wasm.OpTableFill:
		c.misc(op.op, int(op.a))
	default: // table.init table.copy
		c.misc(op.op, int(op.a), int(op.b))
	}
}

// wholly runs the instruction on the whole range if that goes beyond an end:
// it traps.
func (c *asm) wholly(op rangeOp) {
	memory := func() {
		c.op(0x3f, 0, 0xad) // memory.size
		c.i64(16)
		c.op(0x86)
	}
	table := func(t uint32) func() {
		return func() {
			c.size(t)
			c.op(0xad)
		}
	}
	switch op.op {
	case wasm.OpMemoryFill:
		c.beyond(op, to, memory)
	case wasm.OpMemoryCopy:
		c.beyond(op, to, memory)
		c.beyond(op, from, memory)
	case wasm.OpMemoryInit:
		c.beyond(op, to, memory)
		c.beyondSegment(op)
	case wasm.OpTableFill:
		c.beyond(op, to, table(op.a))
	case wasm.OpTableCopy:
		c.beyond(op, to, table(op.a))
		c.beyond(op, from, table(op.b))
	default: // table.init
		c.beyond(op, to, table(op.b))
		c.beyondSegment(op)
	}
}

// beyond compares the end of a range with a size.
func (c *asm) beyond(op rangeOp, start int, size func()) {
	c.wide(start)
	c.wide(length)
	c.op(0x7c) // i64.add
	size()
	c.op(0x56, 0x04, 0x40) // i64.gt_u if
	c.whole(op)
	c.op(0x0b)
}

// beyondSegment finds out the same of a segment, whose size, none once it was
// dropped, no instruction tells: an empty range at the end traps if that lies
// beyond. No segment is as long as the numbers go.
func (c *asm) beyondSegment(op rangeOp) {
	c.beyond(op, from, func() { c.i64(1<<32 - 1) })
	c.i32(0)
	c.get(from)
	c.get(length)
	c.op(0x6a)
	c.i32(0)
	c.ranged(op)
}

func (c *asm) whole(op rangeOp) {
	c.get(to)
	c.get(from)
	c.get(length)
	c.ranged(op)
	c.op(0x00) // unreachable: it has trapped
}
