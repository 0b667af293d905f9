package meter

// operand says what follows an opcode.
type operand byte

const (
	opUnknown operand = iota
	opNone
	opControl // looked at by the walk itself
	opLocal   // index of a local
	opGlobal  // index of a global
	opTable   // index of a table
	opMemory  // a byte that is zero: the only memory
	opAddress // alignment and offset
	opLane    // lane of a vector
	opAddressLane
	opI32
	opI64
	op4         // four bytes
	op8         // eight bytes
	op16        // sixteen bytes
	opTypes     // value types of select
	opRef       // a reference type
	opFunc      // index of a function
	opReference // index of a function: becomes a variable
	opIndex     // index of a segment, which the engine checks
	opRange     // work of any length: becomes a call
	opPrefix    // another opcode follows
)

// instruction is what the meter knows of an opcode: what follows it, and its
// price. A price is about a nanosecond of a slow machine; it never exceeds
// mostPrice for each byte of the instruction.
type instruction struct {
	operand operand
	price   byte
}

const (
	mostPrice  = 12
	priceDiv   = 8
	priceCall  = 3
	priceFar   = 8  // call_indirect
	priceGrow  = 24 // two bytes at least
	priceRange = 8
)

var (
	plainSet  = plainInstructions()
	miscSet   = miscInstructions()
	vectorSet = vectorInstructions()
)

// plainInstructions are those of one byte.
func plainInstructions() (set [256]instruction) {
	fill := func(from, to int, o operand, price byte) {
		for c := from; c <= to; c++ {
			set[c] = instruction{o, price}
		}
	}
	fill(0x00, 0x01, opControl, 0) // unreachable nop
	fill(0x02, 0x03, opControl, 0) // block loop
	fill(0x04, 0x04, opControl, 1) // if
	fill(0x05, 0x05, opControl, 0) // else
	fill(0x0b, 0x0b, opControl, 0) // end
	fill(0x0c, 0x0d, opControl, 1) // br br_if
	fill(0x0e, 0x0e, opControl, 2) // br_table
	fill(0x0f, 0x0f, opControl, 1) // return
	fill(0x10, 0x10, opFunc, priceCall)
	fill(0x11, 0x11, opControl, priceFar) // call_indirect
	fill(0x1a, 0x1a, opNone, 0)           // drop
	fill(0x1b, 0x1b, opNone, 1)           // select
	fill(0x1c, 0x1c, opTypes, 1)          // select with types
	fill(0x20, 0x22, opLocal, 1)
	fill(0x23, 0x24, opGlobal, 1)
	fill(0x25, 0x26, opTable, 2)
	fill(0x28, 0x3e, opAddress, 1)
	fill(0x3f, 0x3f, opMemory, 1)        // memory.size
	fill(0x40, 0x40, opRange, priceGrow) // memory.grow
	fill(0x41, 0x41, opI32, 1)           // i32.const
	fill(0x42, 0x42, opI64, 1)           // i64.const
	fill(0x43, 0x43, op4, 1)             // f32.const
	fill(0x44, 0x44, op8, 1)             // f64.const
	fill(0x45, 0xc4, opNone, 1)          // comparing, calculating, converting
	fill(0x6d, 0x70, opNone, priceDiv)   // i32.div i32.rem
	fill(0x7f, 0x82, opNone, priceDiv)   // i64.div i64.rem
	fill(0x91, 0x91, opNone, priceDiv)   // f32.sqrt
	fill(0x95, 0x95, opNone, priceDiv/2) // f32.div
	fill(0x9f, 0x9f, opNone, priceDiv)   // f64.sqrt
	fill(0xa3, 0xa3, opNone, priceDiv/2) // f64.div
	fill(0xd0, 0xd0, opRef, 1)           // ref.null
	fill(0xd1, 0xd1, opNone, 1)          // ref.is_null
	fill(0xd2, 0xd2, opReference, 2)     // ref.func
	fill(0xfc, 0xfd, opPrefix, 0)
	return set
}

// miscInstructions are those behind 0xfc.
func miscInstructions() (set [18]instruction) {
	for c := range 8 {
		set[c] = instruction{opNone, 2} // saturating conversions
	}
	for _, c := range [...]byte{miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill} {
		set[c] = instruction{opRange, priceRange}
	}
	set[miscTableGrow] = instruction{opRange, priceGrow}
	set[9] = instruction{opIndex, 2}  // data.drop
	set[13] = instruction{opIndex, 2} // elem.drop
	set[16] = instruction{opTable, 1} // table.size
	return set
}

// Instructions behind 0xfc that do work of any length.
const (
	miscMemoryInit = 8
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableFill  = 17
)

// vectorInstructions are those behind 0xfd.
func vectorInstructions() (set [256]instruction) {
	for c := range set {
		set[c] = instruction{opNone, 1}
	}
	fill := func(from, to int, o operand) {
		for c := from; c <= to; c++ {
			set[c].operand = o
		}
	}
	fill(0x00, 0x0b, opAddress)
	fill(0x0c, 0x0d, op16) // v128.const i8x16.shuffle
	fill(0x15, 0x22, opLane)
	fill(0x54, 0x5b, opAddressLane)
	fill(0x5c, 0x5d, opAddress)
	for _, c := range [...]byte{ // never given out, or only to relaxed vectors
		0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb,
		0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee,
	} {
		set[c] = instruction{}
	}
	for _, c := range [...]byte{0xe3, 0xe7, 0xef, 0xf3} { // square roots and divisions
		set[c].price = priceDiv
	}
	return set
}

// featureOf says what an unknown opcode belongs to.
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
