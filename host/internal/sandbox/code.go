package sandbox

import "fmt"

func (a *anatomy) codeSection(r *reader) {
	a.code = true
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
		a.body(body, len(a.types[a.funcs[first+i]].params))
		body.end("the function")
		if body.err != nil {
			r.err = within(body.err, fmt.Sprintf("function %d", first+i))
		}
	}
}

// body walks one function: its locals, then its instructions.
func (a *anatomy) body(r *reader, params int) {
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
	w := walk{r: r, a: a, depth: 1}
	for w.depth > 0 && r.err == nil {
		w.step()
	}
	a.effort += w.branches * w.branches
	if a.effort > maxEffort {
		r.fail(TooBig, "the branches of the functions up to this one would take too long to compile")
	}
}

// walk passes over the instructions of a function. It knows where each ends,
// and counts what makes compiling expensive.
type walk struct {
	r        *reader
	a        *anatomy
	depth    int
	branches int
	passed   int
}

// branch counts what splits the flow of a function: the engine's work grows
// with the square of it.
func (w *walk) branch(n int) {
	w.branches += n
	if w.branches > maxBranches {
		w.r.fail(TooBig, "more than %d branches in one function", maxBranches)
	}
}

// pass counts what a call moves: two bytes of code can move a thousand values.
func (w *walk) pass(t funcType) {
	w.passed += len(t.params) + len(t.results)
	if w.passed > maxPassed {
		w.r.fail(TooBig, "the calls of one function pass more than %d values", maxPassed)
	}
}

// blockType is a value type, nothing, or, not negative, the index of a type.
func (w *walk) blockType() {
	t := w.r.signed(33)
	if t >= 0 && t < int64(len(w.a.types)) && len(w.a.types[t].params) > maxBlockParams {
		w.r.fail(TooBig, "a block of more than %d parameters", maxBlockParams)
	}
}

func (w *walk) step() {
	r := w.r
	op := r.byte()
	switch {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		w.blockType()
		w.depth++
		w.branch(1)
	case op == 0x0d: // br_if
		r.u32()
		w.branch(1)
	case op == 0x0b: // end
		w.depth--
	case op == 0x0e:
		w.brTable()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		memarg(r)
	case op >= 0x45 && op <= 0xc4: // comparing, calculating, converting
	case op == 0xfc:
		w.bulk()
	case op == 0xfd:
		w.vector()
	default:
		w.plain(op)
	}
}

// plain is every instruction that has at most a few simple operands.
func (w *walk) plain(op byte) {
	r := w.r
	switch op {
	case 0x00, 0x01, 0x05, 0x0f, 0x1a, 0x1b, 0xd1: // unreachable nop else return drop select ref.is_null
	case 0x0c, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0xd2: // one index
		r.u32()
	case 0x10: // call
		if t, ok := w.a.signature(r.u32()); ok {
			w.pass(t)
		}
	case 0x11: // call_indirect
		if t := r.u32(); int64(t) < int64(len(w.a.types)) {
			w.pass(w.a.types[t])
		}
		r.u32()
	case 0x1c: // select with types
		for n := r.count("types of select", 1, maxParams); n > 0 && r.err == nil; n-- {
			valueTypeOf(r)
		}
	case 0x3f, 0x40, 0xd0: // memory.size, memory.grow, ref.null
		r.byte()
	case 0x41:
		r.signed(32)
	case 0x42:
		r.signed(64)
	case 0x43:
		r.skip(4)
	case 0x44:
		r.skip(8)
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

func memarg(r *reader) {
	r.u32()
	r.u32()
}

func (w *walk) brTable() {
	n := w.r.count("targets of br_table", 1, maxBranches)
	w.branch(n)
	for ; n >= 0 && w.r.err == nil; n-- { // the default target comes last
		w.r.u32()
	}
}

// bulk is the family of saturating conversions, bulk memory and tables.
func (w *walk) bulk() {
	r := w.r
	switch sub := r.u32(); sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case 8: // memory.init
		r.u32()
		r.byte()
	case 10: // memory.copy
		r.skip(2)
	case 11: // memory.fill
		r.byte()
	case 9, 13, 16, 17: // data.drop elem.drop table.size table.fill
		r.u32()
	case 12, 14: // table.init table.copy
		r.u32()
		r.u32()
	case 15: // table.grow
		if t := r.u32(); t < maxTables {
			w.a.grows[t] = true
		}
	default:
		r.fail(Unsupported, "instruction 0xfc %d is not offered", sub)
	}
}

// vector is the family of 128-bit vectors.
func (w *walk) vector() {
	r := w.r
	switch sub := r.u32(); {
	case sub <= 11, sub == 92, sub == 93:
		memarg(r)
	case sub == 12, sub == 13: // v128.const, i8x16.shuffle
		r.skip(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		memarg(r)
		r.byte()
	case sub > 255:
		r.fail(Unsupported, "instruction 0xfd %d is not offered (relaxed vectors)", sub)
	}
}
