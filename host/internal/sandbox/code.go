package sandbox

import "fmt"

func (a *anatomy) codeSection(r *reader) {
	a.code, a.codeSize = true, len(r.b)
	n := r.count("function bodies", 3, maxFunctions)
	if r.err == nil && n != a.own {
		r.fail(Damaged, "%d functions are declared, but there are %d bodies", a.own, n)
	}
	first := len(a.funcs) - a.own
	for i := 0; i < n && r.err == nil; i++ {
		size := r.u32()
		if size > maxFunction {
			r.fail(TooBig, "function %d has %d bytes; this host takes %d", first+i, size, maxFunction)
			return
		}
		body := r.take(size)
		typ := a.types[a.funcs[first+i]]
		a.body(body, len(typ.params), len(typ.results))
		body.end("the function")
		if body.err != nil {
			r.err = within(body.err, fmt.Sprintf("function %d", first+i))
		}
	}
}

// body walks one function: its locals, then its instructions.
func (a *anatomy) body(r *reader, params, results int) {
	locals := uint64(params)
	for n := r.count("groups of locals", 2, maxLocals); n > 0 && r.err == nil; n-- {
		locals += uint64(r.u32())
		valueTypeOf(r)
		if locals > maxLocals {
			r.fail(TooBig, "%d locals; this host takes %d", locals, maxLocals)
		}
	}
	a.locals += int(min(locals, maxLocals))
	if a.locals > maxLocalsAll {
		r.fail(TooBig, "more than %d locals in all functions", maxLocalsAll)
	}
	w := walk{r: r, a: a}
	w.begin(results, int(min(locals, maxLocals)))
	for len(w.blocks) > 0 && r.err == nil {
		w.step()
	}
	w.end()
	a.effort += nsFunc + w.effort + nsByte*w.load
	if a.effort > effortAll+effortOfByte*a.codeSize {
		r.fail(TooBig, "the functions up to this one would take too long to compile")
	}
}

// call is a call with what it moves: two bytes of code can move a thousand values.
func (w *walk) call(t funcType, pops, bytes int) {
	n := len(t.params) + len(t.results)
	w.passed += n
	if w.passed > maxPassed {
		w.r.fail(TooBig, "the calls of one function pass more than %d values", maxPassed)
	}
	w.move(pops+len(t.params), len(t.results))
	w.cost(0, bytes)
}

// blockType is a value type, nothing, or, not negative, the index of a type.
func (w *walk) blockType() (params, results int) {
	t := w.r.signed(33)
	switch {
	case t == -64:
		return 0, 0
	case t < 0 || t >= int64(len(w.a.types)):
		return 0, 1
	}
	typ := w.a.types[t]
	if len(typ.params) > maxBlockParams {
		w.r.fail(TooBig, "a block of more than %d parameters", maxBlockParams)
	}
	return len(typ.params), len(typ.results)
}

func (w *walk) step() {
	r := w.r
	op := r.byte()
	w.cost(0, bytesPlain)
	switch {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		params, results := w.blockType()
		w.enter(op, params, results)
	case op == 0x05: // else
		w.otherwise()
	case op == 0x0b: // end
		w.leave()
	case op >= 0x0c && op <= 0x11:
		w.flow(op)
	case op >= 0x20 && op <= 0x26:
		w.variable(op)
	case op >= 0x28 && op <= 0x3e: // loads and stores
		w.access()
		if op >= 0x36 {
			w.move(2, 0)
		} else {
			w.move(1, 1)
		}
	case op >= 0x45 && op <= 0xc4: // comparing, calculating, converting
		w.calculate(op)
	case op == 0xfc:
		w.bulk()
	case op == 0xfd:
		w.vector()
	default:
		w.plain(op)
	}
}

// flow is what leaves the straight way: jumps and calls.
func (w *walk) flow(op byte) {
	r := w.r
	switch op {
	case 0x0c: // br
		w.jump(r.u32())
		w.stop()
	case 0x0d: // br_if
		w.move(1, 0)
		w.branch(1)
		w.jump(r.u32())
		w.split()
	case 0x0e: // br_table
		w.move(1, 0)
		n := r.count("targets of br_table", 1, maxBranches)
		w.branch(n)
		for ; n >= 0 && r.err == nil; n-- { // the default target comes last
			w.jump(r.u32())
		}
		w.stop()
	case 0x0f: // return
		w.stop()
	case 0x10: // call
		if t, ok := w.a.signature(r.u32()); ok {
			w.call(t, 0, bytesCall)
		}
	case 0x11: // call_indirect
		if t := r.u32(); int64(t) < int64(len(w.a.types)) {
			w.call(w.a.types[t], 1, bytesCallIndirect)
		}
		r.u32()
	}
}

// variable is what reads and writes locals, globals and tables.
func (w *walk) variable(op byte) {
	n := w.r.u32()
	switch op {
	case 0x20: // local.get
		w.use(n)
		w.move(0, 1)
	case 0x21: // local.set
		w.set(n)
		w.move(1, 0)
	case 0x22: // local.tee
		w.set(n)
	case 0x23: // global.get
		w.move(0, 1)
	case 0x24: // global.set
		w.move(1, 0)
	case 0x25: // table.get
		w.move(1, 1)
		w.cost(0, bytesTrap)
	case 0x26: // table.set
		w.move(2, 0)
		w.cost(0, bytesTrap)
	}
}

// calculate is every instruction that takes one or two values and gives one.
func (w *walk) calculate(op byte) {
	switch {
	case op >= 0x46 && op <= 0x4f, op >= 0x51 && op <= 0x66, // comparing
		op >= 0x6a && op <= 0x78, op >= 0x7c && op <= 0x8a, op >= 0x92 && op <= 0x98, op >= 0xa0 && op <= 0xa6:
		w.move(2, 1)
	default:
		w.move(1, 1)
	}
	switch {
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // dividing
		w.cost(0, bytesTrap)
	case op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1: // cutting off to a whole number
		w.cost(0, bytesTrap)
	}
}

// plain is every instruction that has at most a few simple operands.
func (w *walk) plain(op byte) {
	r := w.r
	switch op {
	case 0x00: // unreachable
		w.stop()
	case 0x01: // nop
	case 0x1a: // drop
		w.move(1, 0)
	case 0x1b: // select
		w.move(3, 1)
	case 0x1c: // select with types
		for n := r.count("types of select", 1, maxParams); n > 0 && r.err == nil; n-- {
			valueTypeOf(r)
		}
		w.move(3, 1)
	case 0x3f: // memory.size
		r.byte()
		w.move(0, 1)
	case 0x40: // memory.grow
		r.byte()
		w.call(funcType{valI32, valI32}, 0, bytesCall)
	case 0x41:
		r.signed(32)
		w.move(0, 1)
	case 0x42:
		r.signed(64)
		w.move(0, 1)
	case 0x43:
		r.skip(4)
		w.move(0, 1)
	case 0x44:
		r.skip(8)
		w.move(0, 1)
	case 0xd0: // ref.null
		r.byte()
		w.move(0, 1)
	case 0xd1: // ref.is_null
		w.move(1, 1)
	case 0xd2: // ref.func
		r.u32()
		w.move(0, 1)
		w.cost(0, bytesCall)
	default:
		if r.err == nil {
			r.fail(Unsupported, "instruction %#x is not offered (%s)", op, featureOf(op))
		}
	}
}

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
	case op == 0xfe:
		return "threads"
	}
	return "no feature known to this host"
}

// bulk is the family of saturating conversions, bulk memory and tables.
func (w *walk) bulk() {
	r := w.r
	switch sub := r.u32(); sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		w.move(1, 1)
		w.cost(0, bytesTrap)
	case 8: // memory.init
		r.u32()
		r.byte()
		w.many()
	case 10: // memory.copy
		r.skip(2)
		w.many()
	case 11: // memory.fill
		r.byte()
		w.many()
	case 9, 13: // data.drop elem.drop
		r.u32()
	case 12, 14: // table.init table.copy
		r.u32()
		r.u32()
		w.many()
	case 15: // table.grow
		if t := r.u32(); t < maxTables {
			w.a.grows[t] = true
		}
		w.call(funcType{valI32 + valI32, valI32}, 0, bytesCall)
	case 16: // table.size
		r.u32()
		w.move(0, 1)
	case 17: // table.fill
		r.u32()
		w.many()
	default:
		r.fail(Unsupported, "instruction 0xfc %d is not offered", sub)
	}
}

// many is an instruction on a range: in metered code, a call.
func (w *walk) many() {
	w.call(funcType{params: valI32 + valI32 + valI32}, 0, bytesCall)
}

// vector is the family of 128-bit vectors.
func (w *walk) vector() {
	r := w.r
	sub := r.u32()
	switch {
	case sub <= 11, sub == 92, sub == 93:
		w.access()
	case sub == 12, sub == 13: // v128.const, i8x16.shuffle
		r.skip(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		w.access()
		r.byte()
	case sub > 255:
		r.fail(Unsupported, "instruction 0xfd %d is not offered (relaxed vectors)", sub)
		return
	}
	w.move(vectorMoves(sub))
}

// vectorMoves is how many values a vector instruction takes and gives.
func vectorMoves(sub uint32) (pops, pushes int) {
	switch {
	case sub == 12: // v128.const
		return 0, 1
	case sub == 11, sub >= 88 && sub <= 91: // stores
		return 2, 0
	case sub == 82: // v128.bitselect
		return 3, 1
	case sub >= 35 && sub <= 76: // comparing
		return 2, 1
	}
	for _, b := range vectorBinary {
		if sub >= uint32(b[0]) && sub <= uint32(b[1]) {
			return 2, 1
		}
	}
	return 1, 1
}

// vectorBinary are ranges of vector instructions that take two values.
var vectorBinary = [...][2]byte{
	{13, 14}, {23, 23}, {26, 26}, {28, 28}, {30, 30}, {32, 32}, {34, 34}, {78, 81}, {84, 87}, {101, 102}, {107, 115},
	{118, 121}, {123, 123}, {130, 130}, {133, 134}, {139, 147}, {149, 153}, {155, 159}, {171, 174}, {177, 177}, {181, 186},
	{188, 191}, {203, 206}, {209, 209}, {213, 223}, {228, 235}, {240, 247},
}

// access reads where an instruction finds something in memory.
func (w *walk) access() {
	w.r.u32() // alignment
	w.r.u32() // offset
	w.known++
	w.cost(0, bytesAccess)
}
