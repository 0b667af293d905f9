package wasm

import "fmt"

// Code reads the body of a function. After BeginBody, each Next reads one
// instruction into the fields below. The zero Code is ready for BeginBody. A Code
// can be reused, which saves memory.
type Code struct {
	Reader

	Op     Op  // current instruction
	Offset int // position of the instruction
	// A and B are operands. For most instructions A is the index that follows the
	// opcode. For call_indirect A is the type and B the table; for a block they are
	// the numbers of parameters and results; for bulk operations they are tables and
	// segments in their order, or 0. For other instructions they are undefined.
	A, B uint32
	// Labels are the targets of br_table, the default last. They are valid until the
	// next instruction.
	Labels []uint32

	Locals      int    // including parameters
	Kinds       []byte // types of the locals
	Groups      int    // groups of locals
	GroupsStart int    // position of the groups, after their count

	module   *Module
	blocks   []Op // open blocks: the function, then block, loop, if or else
	branches int
	index    int
}

// BeginBody reads the locals of a body and moves to its first instruction.
func (c *Code) BeginBody(m *Module, body int) {
	f := m.Imported + body
	*c = Code{
		Reader: Reader{b: m.Bodies[body]}, module: m, index: f, Locals: len(m.Types[m.Funcs[f]].Params),
		blocks: append(c.blocks[:0], OpBlock), Labels: c.Labels[:0],
		Kinds: append(c.Kinds[:0], m.Types[m.Funcs[f]].Params...),
	}
	c.Groups = c.Count("groups of locals", 2, maxLocals*m.boundsFactor)
	c.GroupsStart = c.pos
	for n := c.Groups; n > 0 && c.err == nil; n-- {
		more, kind := c.U32(), c.Byte()
		checkValueType(&c.Reader, kind)
		if uint64(c.Locals)+uint64(more) > maxLocals*uint64(m.boundsFactor) {
			c.Fail(TooBig, "%d locals; the limit is %d", uint64(c.Locals)+uint64(more), maxLocals)
			return
		}
		c.Locals += int(more)
		for range more {
			c.Kinds = append(c.Kinds, kind)
		}
	}
}

// Err returns the first error with the index of its function.
func (c *Code) Err() error {
	if c.err != nil {
		c.err.Where = fmt.Sprintf("function %d", c.index)
	}
	return c.Reader.Err()
}

// Next reads an instruction. It returns false after the end of the function and
// after an error, see Err.
func (c *Code) Next() bool {
	if len(c.blocks) == 0 || c.err != nil {
		return false
	}
	c.Offset = c.pos
	op := Op(c.Byte())
	o := shapes[op].operand
	if o == operandPrefix {
		op = c.prefixed(op)
		o = shapes[op].operand
	}
	c.Op = op
	switch o { // the most frequent ones; operands handles the others
	case operandNone:
	case operandLocal:
		c.A = c.Index("local", c.Locals)
	case operandI32:
		c.Signed(32)
	case operandAddress:
		c.address()
	case operandBlock:
		c.block()
	case operandLabel:
		c.A = c.label()
	case operandFunc:
		c.A = c.Index("function", len(c.module.Funcs))
	case operandGlobal:
		c.A = c.Index("global", c.module.Globals)
	case operandEnd:
		c.blocks = c.blocks[:len(c.blocks)-1]
		if len(c.blocks) == 0 {
			c.End()
		}
	default:
		c.operands(o)
	}
	return c.err == nil
}

// prefixed reads the opcode after a prefix byte.
func (c *Code) prefixed(prefix Op) Op {
	sub := c.U32()
	// The engine reads only the second byte of a vector opcode. With a longer
	// encoding it would interpret the following code differently.
	if n := c.pos - c.Offset; prefix == 0xfd && (n > 3 || n == 3 && sub < 0x80) {
		c.Fail(Unsupported, "instruction %#x %d has an encoding that is too long", uint16(prefix), sub)
		return 0
	}
	base, limit := Op(opsFC), uint32(0x100)
	if prefix == 0xfd {
		base = opsFD
	}
	if sub >= limit || shapes[base+Op(sub)].operand == operandUnknown {
		c.Fail(Unsupported, "instruction %#x %d (%s) is not supported", uint16(prefix), sub, featureOf(byte(prefix)))
		return 0
	}
	return base + Op(sub)
}

// operands reads the operands of an instruction that is not frequent, for Next.
func (c *Code) operands(o operand) {
	c.A, c.B = 0, 0
	switch o {
	case operandUnknown:
		c.Fail(Unsupported, "instruction %#x (%s) is not supported", uint16(c.Op), featureOf(byte(c.Op)))
	case operandElse:
		if top := len(c.blocks) - 1; c.blocks[top] == OpIf {
			c.blocks[top] = OpElse
		} else {
			c.Fail(Damaged, "else without if")
		}
	case operandLabels:
		n := c.Count("targets of br_table", 1, maxBranches*c.module.boundsFactor)
		c.branch(n)
		for c.Labels = c.Labels[:0]; n >= 0 && c.err == nil; n-- { // n targets and the default
			c.Labels = append(c.Labels, c.Index("label", len(c.blocks)))
		}
	case operandIndirect:
		c.A = c.Index("type", len(c.module.Types))
		c.B = c.table()
	case operandTypes:
		for n := c.Count("types of select", 1, maxParams); n > 0 && c.err == nil; n-- {
			valueType(&c.Reader)
		}
	case operandTable, operandTableBulk:
		c.A = c.table()
	case operandMemory, operandGrow, operandMemoryFill:
		c.memory()
	case operandAddressLane:
		c.address()
		c.Byte()
	case operandLane:
		c.Byte()
	case operandI64:
		c.Signed(64)
	case operand4:
		c.Bytes(4)
	case operand8:
		c.Bytes(8)
	case operand16:
		c.Bytes(16)
	case operandReference:
		reference(&c.Reader)
	case operandSegment: // checked by the engine
		c.A = c.U32()
	case operandMemoryInit:
		c.A = c.U32()
		c.memory()
	case operandMemoryCopy:
		c.memory()
		c.memory()
	case operandTableInit:
		c.A, c.B = c.U32(), c.table()
	case operandTableCopy:
		c.A, c.B = c.table(), c.table()
	}
}

// table reads the index of a table.
func (c *Code) table() uint32 { return c.Index("table", len(c.module.Tables)) }

// memory reads the index of a memory, which must be that of the only one.
func (c *Code) memory() {
	if c.Byte() != 0 {
		c.Fail(Unsupported, "a second memory is not supported")
	}
}

// address skips alignment and offset. From 64 on, the alignment says that the index of a
// memory follows.
func (c *Code) address() {
	if align := c.U32(); align >= 64 {
		c.Fail(Unsupported, "a second memory is not supported")
	} else if align > 4 {
		c.Fail(Damaged, "an alignment of 2^%d", align)
	}
	c.U32()
}

// label reads the depth of a jump.
func (c *Code) label() uint32 {
	if c.Op == OpBrIf {
		c.branch(1)
	}
	return c.Index("label", len(c.blocks))
}

// branch counts n branches, which divide the flow of a function: the engine's time grows
// faster than their number.
func (c *Code) branch(n int) {
	c.branches += n
	if c.branches > maxBranches*c.module.boundsFactor {
		c.Fail(TooBig, "more than %d branches in one function", maxBranches)
	}
}

// block reads a block type: none, one value, or the index of a type.
func (c *Code) block() {
	c.branch(1)
	c.blocks = append(c.blocks, c.Op)
	switch t := c.Signed(33); {
	case t >= int64(len(c.module.Types)):
		c.Fail(Damaged, "a block of type %d, but there are %d", t, len(c.module.Types))
	case t >= 0:
		c.A, c.B = uint32(len(c.module.Types[t].Params)), uint32(len(c.module.Types[t].Results))
		if c.A > maxBlockParams {
			c.Fail(TooBig, "a block of %d parameters; the limit is %d", c.A, maxBlockParams)
		}
	case t == -64: // 0x40: neither parameters nor results
		c.A, c.B = 0, 0
	case t < -64 || !isValue(byte(t&0x7f)): // value types are negative numbers of one byte
		c.Fail(Unsupported, "a block of type %d is not supported", t)
	default:
		c.A, c.B = 0, 1
	}
}
