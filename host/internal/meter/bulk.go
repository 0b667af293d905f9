package meter

import (
	"encoding/binary"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Bulk operations are done in pieces with separate payments.
const (
	pieceBytes   = 64 << 10
	pieceEntries = 8 << 10 // table entries of eight bytes
	bytesShift   = 3       // a unit of fuel pays for eight bytes
	pageShift    = 16 - bytesShift
)

// bulkOp is a bulk operation with its operands.
type bulkOp struct {
	op   wasm.Op
	a, b uint32 // operands
}

// maxHelpers is the maximum number of added functions for bulk operations.
const maxHelpers = 1_000

// helper is a function that is added to the module. Its name appears in stack
// traces.
type helper struct {
	name                  string
	params, results, body []byte
}

var bulkNames = map[wasm.Op]string{ // read only
	wasm.OpMemoryInit: "memory.init", wasm.OpMemoryCopy: "memory.copy", wasm.OpMemoryFill: "memory.fill",
	wasm.OpTableInit: "table.init", wasm.OpTableCopy: "table.copy", wasm.OpTableFill: "table.fill",
}

// replaceBulk replaces a bulk operation with a call of its helper.
func (w *walk) replaceBulk() {
	m, op := w.m, bulkOp{w.Op, w.A, w.B}
	i, known := m.helperOf[op]
	if !known {
		i = m.firstHelper() + uint32(len(m.helpers))
		if len(m.helpers) == maxHelpers {
			w.Fail(wasm.TooBig, "more than %d different bulk operations", maxHelpers)
			return
		}
		m.helperOf[op] = i
		m.helpers = append(m.helpers, m.newHelper(op))
	}
	c := &asm{}
	if short := w.Op == wasm.OpMemoryFill || w.Op == wasm.OpMemoryCopy; short && !w.dead {
		w.inlineBulk(c, op, int(i))
	} else {
		c.emitIndex(0x10, int(i)) // call
	}
	w.replaceInstruction(c.b...)
}

// maxShort is how many bytes are filled or copied inline.
const maxShort = 4 << 10

// inlineBulk executes a bulk operation inline if its length is small, and otherwise calls
// its helper. A function that fills or copies saves all registers of the engine when it
// begins, and a loop around the call would do that in each iteration.
func (w *walk) inlineBulk(c *asm, op bulkOp, helper int) {
	s := &w.m.segments[w.current]
	s.bulk += maxShort >> bytesShift // what it may cost; placeChecks adds this up
	s.calls++
	w.needsLength = true
	if w.m.bulkBlockType == nil {
		w.m.bulkBlockType = appendSigned(nil, int64(w.m.types.n)) // as the type of a block
		w.m.addType([]byte{wasm.I32, wasm.I32, wasm.I32}, nil)
	}
	c.emitIndex(0x22, w.Locals) // local.tee: the added local keeps the length, the last operand
	c.getLocal(w.Locals)
	c.constI32(maxShort)
	c.emit(0x4b, 0x04) // i32.gt_u if
	c.emit(w.m.bulkBlockType...)
	c.emitIndex(0x10, helper) // call
	c.emit(0x05)              // else
	c.charge(w.m, noLocal, func(c *asm) {
		c.getU64(w.Locals)
		c.constI64(bytesShift)
		c.emit(0x88) // i64.shr_u
	})
	c.emitBulk(op)
	c.emit(0x0b) // end
}

// addedFunctions returns the functions added to the module: the refill, the helpers,
// and a wrapper that calls the start function. Exporting the start function itself
// would declare references that the original did not declare.
func (m *module) addedFunctions() []helper {
	all := slices.Concat([]helper{{name: Reserved + ".refill", body: m.refillBody()}}, m.helpers, m.payWrappers)
	if m.Start != nil {
		c := &asm{b: []byte{0}}                        // no locals
		c.emitIndex(0x10, int(m.shiftIndex(*m.Start))) // call
		c.emit(0x0b)                                   // end
		all = append(all, helper{name: ExportStart, body: c.b})
	}
	return all
}

// Indexes of added functions; yield is the last import.
func (m *module) yield() uint32       { return uint32(m.Imported) }
func (m *module) refill() uint32      { return uint32(len(m.Funcs)) + 1 }
func (m *module) firstHelper() uint32 { return uint32(len(m.Funcs)) + 2 }

// newHelper returns the function that executes a bulk operation. It has the operation's
// operands as parameters.
func (m *module) newHelper(op bulkOp) helper {
	value := byte(wasm.I32)
	switch op.op {
	case wasm.OpMemoryGrow:
		return helper{"memory.grow", []byte{wasm.I32}, []byte{wasm.I32}, m.growMemory()}
	case wasm.OpTableGrow:
		return helper{"table.grow", []byte{m.Tables[op.a].Elem, wasm.I32}, []byte{wasm.I32}, m.growTable(op.a)}
	case wasm.OpTableFill:
		value = m.Tables[op.a].Elem
	default: // all others take three i32
	}
	return helper{bulkNames[op.op], []byte{wasm.I32, value, wasm.I32}, nil, m.bulkInPieces(op)}
}

// growMemory returns the body of a helper that grows the memory. It grows by all pages in one
// step, since growing cannot be undone, and then pays for them, before the guest can use them.
func (m *module) growMemory() []byte {
	const pages, result = 0, 1
	c := &asm{b: []byte{1, 1, wasm.I32}} // one group of one local, an i32
	c.getLocal(pages)
	c.emit(0x40, 0) // memory.grow
	c.payForGrowth(m, result, func(c *asm) {
		c.getU64(pages)
		c.constI64(pageShift)
		c.emit(0x86) // i64.shl
	})
	return c.b
}

// growTable returns the body of a helper that grows a table, like growMemory. Beyond
// maxTable entries it returns -1 without growing.
func (m *module) growTable(table uint32) []byte {
	const entries, result = 1, 2
	c := &asm{b: []byte{1, 1, wasm.I32}} // one group of one local, an i32
	c.getU64(entries)
	c.tableSize(table)
	c.emit(0xad, 0x7c) // i64.extend_i32_u i64.add
	c.constI64(int64(m.maxTable))
	c.emit(0x56, 0x04, 0x40) // i64.gt_u if
	c.constI32(-1)
	c.emit(0x0f, 0x0b) // return end
	c.getLocal(0)
	c.getLocal(entries)
	c.emitMisc(wasm.OpTableGrow, int(table))
	c.payForGrowth(m, result, func(c *asm) { c.getU64(entries) })
	return c.b
}

// payForGrowth ends a function that tried to grow something: it pays if that
// succeeded.
func (c *asm) payForGrowth(m *module, result int, amount func(*asm)) {
	c.emitIndex(0x22, result) // local.tee: the old size, or -1 if it did not grow
	c.constI32(-1)
	c.emit(0x47, 0x04, 0x40) // i32.ne if
	c.charge(m, noLocal, amount)
	c.checkBalance(m, noLocal)
	c.emit(0x0b) // end
	c.getLocal(result)
	c.emit(0x0b) // end
}

// emitMisc emits an instruction with the prefix 0xfc. The low byte of op is its number
// there.
func (c *asm) emitMisc(op wasm.Op, operands ...int) {
	c.emit(0xfc, byte(op))
	for _, o := range operands {
		c.b = binary.AppendUvarint(c.b, uint64(o))
	}
}

func (c *asm) tableSize(table uint32) { c.emitMisc(16, int(table)) }

// Parameters of a bulk operation.
const to, from, length = 0, 1, 2

// bulkInPieces returns the body of a helper that fills, copies or initializes. Wasm
// traps before it writes anything if a range is out of bounds, so the whole range is
// checked before the first piece.
func (m *module) bulkInPieces(op bulkOp) []byte {
	piece, shift := int32(pieceBytes), int64(bytesShift)
	if op.op == wasm.OpTableInit || op.op == wasm.OpTableCopy || op.op == wasm.OpTableFill {
		piece, shift = pieceEntries, 0
	}
	piecePrice := func(c *asm) { c.constI64(int64(piece) >> shift) }
	exceedsPiece := func(c *asm) {
		c.getLocal(length)
		c.constI32(piece)
		c.emit(0x4b) // i32.gt_u
	}

	c := &asm{b: []byte{0}}
	exceedsPiece(c)
	c.emit(0x04, 0x40) // if
	c.trapOutOfBounds(op)
	copies := op.op == wasm.OpMemoryCopy || op.op == wasm.OpTableCopy
	if copies { // the ranges may overlap
		c.getLocal(to)
		c.getLocal(from)
		c.emit(0x4d, 0x04, 0x40) // i32.le_u if
	}
	c.emit(0x03, 0x40) // loop, ascending
	c.checkBalance(m, noLocal)
	c.charge(m, noLocal, piecePrice)
	c.getLocal(to)
	c.getLocal(from)
	c.constI32(piece)
	c.emitBulk(op)
	c.addTo(to, piece)
	if op.op != wasm.OpMemoryFill && op.op != wasm.OpTableFill {
		c.addTo(from, piece)
	}
	c.addTo(length, -piece)
	exceedsPiece(c)
	c.emit(0x0d, 0, 0x0b) // br_if end
	if copies {
		c.emit(0x05, 0x03, 0x40) // else loop, descending
		c.checkBalance(m, noLocal)
		c.charge(m, noLocal, piecePrice)
		c.addTo(length, -piece)
		for _, start := range []int{to, from} {
			c.getLocal(start)
			c.getLocal(length)
			c.emit(0x6a) // i32.add
		}
		c.constI32(piece)
		c.emitBulk(op)
		exceedsPiece(c)
		c.emit(0x0d, 0, 0x0b, 0x0b) // br_if end end
	}
	c.emit(0x0b) // end
	c.checkBalance(m, noLocal)
	c.charge(m, noLocal, func(c *asm) {
		c.getU64(length)
		c.constI64(shift)
		c.emit(0x88) // i64.shr_u
	})
	c.getLocal(to)
	c.getLocal(from)
	c.getLocal(length)
	c.emitBulk(op)
	c.emit(0x0b) // end
	return c.b
}

// addTo adds a constant to a local.
func (c *asm) addTo(local int, by int32) {
	c.getLocal(local)
	c.constI32(by)
	c.emit(0x6a) // i32.add
	c.setLocal(local)
}

// emitBulk emits the operation itself.
func (c *asm) emitBulk(op bulkOp) {
	switch op.op {
	case wasm.OpMemoryInit:
		c.emitMisc(op.op, int(op.a), 0)
	case wasm.OpMemoryCopy:
		c.emitMisc(op.op, 0, 0)
	case wasm.OpMemoryFill:
		c.emitMisc(op.op, 0)
	case wasm.OpTableFill:
		c.emitMisc(op.op, int(op.a))
	default: // table.init table.copy
		c.emitMisc(op.op, int(op.a), int(op.b))
	}
}

// trapOutOfBounds checks each range of the operation. If one is out of bounds, it executes
// the operation on the whole range, so that it traps as the original would.
func (c *asm) trapOutOfBounds(op bulkOp) {
	memory := func() {
		c.emit(0x3f, 0, 0xad) // memory.size i64.extend_i32_u
		c.constI64(16)        // a page has 2^16 bytes
		c.emit(0x86)          // i64.shl
	}
	table := func(t uint32) func() {
		return func() {
			c.tableSize(t)
			c.emit(0xad) // i64.extend_i32_u
		}
	}
	switch op.op {
	case wasm.OpMemoryFill:
		c.trapBeyond(op, to, memory)
	case wasm.OpMemoryCopy:
		c.trapBeyond(op, to, memory)
		c.trapBeyond(op, from, memory)
	case wasm.OpMemoryInit:
		c.trapBeyond(op, to, memory)
		c.trapBeyondSegment(op)
	case wasm.OpTableFill:
		c.trapBeyond(op, to, table(op.a))
	case wasm.OpTableCopy:
		c.trapBeyond(op, to, table(op.a))
		c.trapBeyond(op, from, table(op.b))
	default: // table.init
		c.trapBeyond(op, to, table(op.b))
		c.trapBeyondSegment(op)
	}
}

// trapBeyond traps if the range that begins at the local start ends beyond a size, which
// the code of size pushes.
func (c *asm) trapBeyond(op bulkOp, start int, size func()) {
	c.getU64(start)
	c.getU64(length)
	c.emit(0x7c) // i64.add
	size()
	c.emit(0x56, 0x04, 0x40) // i64.gt_u if
	c.runWhole(op)
	c.emit(0x0b) // end
}

// trapBeyondSegment traps if the range that begins at the local from ends beyond a segment
// of data or elements. No instruction returns the size of a segment, which is zero after a
// drop. But an operation on an empty range at the end traps if the end is out of bounds.
// The first check is for a sum of more than 32 bits: no segment is as long as the largest
// number.
func (c *asm) trapBeyondSegment(op bulkOp) {
	c.trapBeyond(op, from, func() { c.constI64(1<<32 - 1) })
	c.constI32(0)
	c.getLocal(from)
	c.getLocal(length)
	c.emit(0x6a) // i32.add
	c.constI32(0)
	c.emitBulk(op)
}

// runWhole executes the operation on the whole range, of which it is known that it traps.
func (c *asm) runWhole(op bulkOp) {
	c.getLocal(to)
	c.getLocal(from)
	c.getLocal(length)
	c.emitBulk(op)
	c.emit(0x00) // unreachable after the trap
}
