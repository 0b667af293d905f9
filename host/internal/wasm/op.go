package wasm

// Op is an instruction: its opcode, or, for an opcode after a prefix, opsFC or opsFD
// plus its number.
type Op uint16

const (
	opsFC = 0x100
	opsFD = 0x200
	// Ops is greater than every Op.
	Ops = 0x300
)

// Instructions with names in code.
const (
	OpUnreachable  Op = 0x00
	OpBlock        Op = 0x02
	OpLoop         Op = 0x03
	OpIf           Op = 0x04
	OpElse         Op = 0x05
	OpEnd          Op = 0x0b
	OpBr           Op = 0x0c
	OpBrIf         Op = 0x0d
	OpBrTable      Op = 0x0e
	OpReturn       Op = 0x0f
	OpCall         Op = 0x10
	OpCallIndirect Op = 0x11
	OpLocalGet     Op = 0x20
	OpLocalSet     Op = 0x21
	OpLocalTee     Op = 0x22
	OpGlobalGet    Op = 0x23
	OpTableGet     Op = 0x25
	OpTableSet     Op = 0x26
	OpMemoryGrow   Op = 0x40
	OpRefNull      Op = 0xd0
	OpRefFunc      Op = 0xd2

	OpMemoryInit Op = opsFC + 8
	OpMemoryCopy Op = opsFC + 10
	OpMemoryFill Op = opsFC + 11
	OpTableInit  Op = opsFC + 12
	OpTableCopy  Op = opsFC + 14
	OpTableGrow  Op = opsFC + 15
	OpTableFill  Op = opsFC + 17

	OpVectorConst Op = opsFD + 12
)

// IsBulk reports whether the work of an instruction depends on an operand: filling,
// copying, initializing or growing a memory or a table.
func (o Op) IsBulk() bool { return shapes[o].operand >= operandGrow }

// AccessesMemory reports whether an instruction accesses memory by an address.
func (o Op) AccessesMemory() bool {
	return shapes[o].operand == operandAddress || shapes[o].operand == operandAddressLane
}

// StackEffect returns how many values an instruction pops and pushes, without those
// that depend on the type of a block, a call or a jump.
func (o Op) StackEffect() (pops, pushes int) { return int(shapes[o].pops), int(shapes[o].pushes) }

// operand is the kind of operands after an opcode.
type operand byte

const (
	operandUnknown operand = iota
	operandNone
	operandBlock  // block type
	operandElse   // none; requires an if
	operandEnd    // none; ends a block
	operandLabel  // a jump target
	operandLabels // several jump targets
	operandFunc
	operandIndirect // type and table
	operandTypes    // value types of select
	operandLocal
	operandGlobal
	operandTable
	operandMemory // a zero byte: the only memory
	operandAddress
	operandAddressLane
	operandLane
	operandI32
	operandI64
	operand4 // four bytes
	operand8
	operand16
	operandReference // a reference type
	operandSegment
	operandPrefix // another opcode follows

	operandGrow // a memory; from here on bulk operations
	operandMemoryInit
	operandMemoryCopy
	operandMemoryFill
	operandTableInit
	operandTableCopy
	operandTableBulk // table.grow table.fill
)

// shape describes the operands of an opcode and its effect on the stack.
type shape struct {
	operand      operand
	pops, pushes uint8
}

var shapes = allShapes() // read only

// allShapes returns the shapes of all instructions. Those that are not listed have the
// zero shape, operandUnknown, and are refused. A later line replaces an earlier one, so
// the lines for ranges come first and exceptions follow.
func allShapes() (ops [Ops]shape) {
	for _, s := range [...]struct {
		from, to     Op
		operand      operand
		pops, pushes uint8
	}{
		{0x00, 0x01, operandNone, 0, 0}, // unreachable nop
		{OpBlock, OpLoop, operandBlock, 0, 0},
		{OpIf, OpIf, operandBlock, 1, 0},
		{OpElse, OpElse, operandElse, 0, 0},
		{OpEnd, OpEnd, operandEnd, 0, 0},
		{OpBr, OpBr, operandLabel, 0, 0},
		{OpBrIf, OpBrIf, operandLabel, 1, 0},
		{OpBrTable, OpBrTable, operandLabels, 1, 0},
		{OpReturn, OpReturn, operandNone, 0, 0},
		{OpCall, OpCall, operandFunc, 0, 0},
		{OpCallIndirect, OpCallIndirect, operandIndirect, 1, 0},
		{0x1a, 0x1a, operandNone, 1, 0},  // drop
		{0x1b, 0x1b, operandNone, 3, 1},  // select
		{0x1c, 0x1c, operandTypes, 3, 1}, // select with types
		{OpLocalGet, OpLocalGet, operandLocal, 0, 1},
		{OpLocalSet, OpLocalSet, operandLocal, 1, 0},
		{OpLocalTee, OpLocalTee, operandLocal, 1, 1},
		{OpGlobalGet, OpGlobalGet, operandGlobal, 0, 1},
		{0x24, 0x24, operandGlobal, 1, 0}, // global.set
		{OpTableGet, OpTableGet, operandTable, 1, 1},
		{OpTableSet, OpTableSet, operandTable, 2, 0},
		{0x28, 0x35, operandAddress, 1, 1}, // loads
		{0x36, 0x3e, operandAddress, 2, 0}, // stores
		{0x3f, 0x3f, operandMemory, 0, 1},  // memory.size
		{OpMemoryGrow, OpMemoryGrow, operandGrow, 1, 1},
		{0x41, 0x41, operandI32, 0, 1},
		{0x42, 0x42, operandI64, 0, 1},
		{0x43, 0x43, operand4, 0, 1},
		{0x44, 0x44, operand8, 0, 1},
		{0x45, 0xc4, operandNone, 1, 1}, // comparisons, arithmetic, conversions, except for the next lines
		{0x46, 0x4f, operandNone, 2, 1}, {0x51, 0x66, operandNone, 2, 1},
		{0x6a, 0x78, operandNone, 2, 1}, {0x7c, 0x8a, operandNone, 2, 1},
		{0x92, 0x98, operandNone, 2, 1}, {0xa0, 0xa6, operandNone, 2, 1},
		{OpRefNull, OpRefNull, operandReference, 0, 1},
		{0xd1, 0xd1, operandNone, 1, 1}, // ref.is_null
		{OpRefFunc, OpRefFunc, operandFunc, 0, 1},
		{0xfc, 0xfd, operandPrefix, 0, 0},

		{opsFC, opsFC + 7, operandNone, 1, 1}, // saturating conversions
		{OpMemoryInit, OpMemoryInit, operandMemoryInit, 3, 0},
		{opsFC + 9, opsFC + 9, operandSegment, 0, 0}, // data.drop
		{OpMemoryCopy, OpMemoryCopy, operandMemoryCopy, 3, 0},
		{OpMemoryFill, OpMemoryFill, operandMemoryFill, 3, 0},
		{OpTableInit, OpTableInit, operandTableInit, 3, 0},
		{opsFC + 13, opsFC + 13, operandSegment, 0, 0}, // elem.drop
		{OpTableCopy, OpTableCopy, operandTableCopy, 3, 0},
		{OpTableGrow, OpTableGrow, operandTableBulk, 2, 1},
		{opsFC + 16, opsFC + 16, operandTable, 0, 1}, // table.size
		{OpTableFill, OpTableFill, operandTableBulk, 3, 0},

		{opsFD, opsFD + 0xff, operandNone, 1, 1}, // except for the next lines
		{opsFD, opsFD + 0x0a, operandAddress, 1, 1},
		{opsFD + 0x0b, opsFD + 0x0b, operandAddress, 2, 0},
		{OpVectorConst, OpVectorConst, operand16, 0, 1},
		{opsFD + 0x0d, opsFD + 0x0d, operand16, 2, 1},          // i8x16.shuffle
		{opsFD + 0x15, opsFD + 0x22, operandLane, 1, 1},        // lane instructions
		{opsFD + 0x52, opsFD + 0x52, operandNone, 3, 1},        // v128.bitselect
		{opsFD + 0x54, opsFD + 0x57, operandAddressLane, 2, 1}, // loads of a lane
		{opsFD + 0x58, opsFD + 0x5b, operandAddressLane, 2, 0}, // stores of a lane
		{opsFD + 0x5c, opsFD + 0x5d, operandAddress, 1, 1},
	} {
		for o := s.from; o <= s.to; o++ {
			ops[o] = shape{s.operand, s.pops, s.pushes}
		}
	}
	for _, two := range [...][2]Op{ // vector instructions with two operands
		{0x0e, 0x0e}, {0x17, 0x17}, {0x1a, 0x1a}, {0x1c, 0x1c}, {0x1e, 0x1e}, {0x20, 0x20}, {0x22, 0x22}, {0x23, 0x4c}, {0x4e, 0x51}, {0x65, 0x66},
		{0x6b, 0x73}, {0x76, 0x79}, {0x7b, 0x7b}, {0x82, 0x82}, {0x85, 0x86}, {0x8b, 0x93}, {0x95, 0x99}, {0x9b, 0x9f}, {0xab, 0xae}, {0xb1, 0xb1},
		{0xb5, 0xba}, {0xbc, 0xbf}, {0xcb, 0xce}, {0xd1, 0xd1}, {0xd5, 0xdf}, {0xe4, 0xeb}, {0xf0, 0xf7},
	} {
		for o := opsFD + two[0]; o <= opsFD+two[1]; o++ {
			ops[o].pops = 2
		}
	}
	for _, o := range [...]Op{ // unassigned, or relaxed vectors
		0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb,
		0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee,
	} {
		ops[opsFD+o] = shape{}
	}
	return ops
}

// featureOf returns the proposal that an unknown opcode belongs to.
func featureOf(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exception handling"
	case op == 0x12, op == 0x13:
		return "tail calls"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfc:
		return "a later extension"
	case op == 0xfd:
		return "relaxed vectors or unknown"
	case op == 0xfe:
		return "threads"
	}
	return "unknown"
}
