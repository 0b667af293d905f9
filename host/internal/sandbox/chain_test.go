package sandbox

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// group is a number of locals of one type.
type group struct {
	n    int
	kind byte
}

// fnOf adds a function with locals of several types. The code comes without the final
// end.
func (b *builder) fnOf(params, results string, locals []group, code ...[]byte) uint32 {
	b.funcs = append(b.funcs, uleb(b.typ(params, results)))
	body := uleb(uint32(len(locals)))
	for _, l := range locals {
		body = append(append(body, uleb(uint32(l.n))...), l.kind)
	}
	body = slices.Concat(body, slices.Concat(code...), []byte{opEnd})
	b.bodies = append(b.bodies, append(uleb(uint32(len(body))), body...))
	return b.imported + uint32(len(b.funcs)) - 1
}

func getLocals(from, n int) (code []byte) {
	for i := range n {
		code = append(code, getLocal(uint32(from+i))...)
	}
	return code
}

func setLocals(from, n int) (code []byte) {
	for i := range n {
		code = append(code, setLocal(uint32(from+i))...)
	}
	return code
}

// sinks adds globals that take the results, one per type letter.
func (b *builder) sinks() {
	for _, g := range []string{
		"\x7f\x01\x41\x00", "\x7e\x01\x42\x00", "\x7d\x01\x43\x00\x00\x00\x00", "\x7c\x01\x44\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x7b\x01\xfd\x0c" + strings.Repeat("\x00", 16), "\x70\x01\xd0\x70",
	} {
		b.globals = append(b.globals, []byte(g+"\x0b"))
	}
}

// kinds are the letters of operations in the order of sinks.
const kinds = "ilfdvr"

// types are the types of kinds, in the same order.
const types = "\x7f\x7e\x7d\x7c\x7b\x70"

// operands selects where the operands of a chain come from.
type operands int

const (
	inRegisters operands = iota
	spilled              // many locals in turn
	recomputed           // the same, with a new first operand each time: it may be an address
	afterCalls           // the same after calls, in which the memory may grow
	allOperands
)

// fits reports whether the origin of the operands matters for an operation.
func (o operation) fits(how operands) bool {
	return how <= spilled || strings.HasPrefix(o.takes, "i") && o.op != 0x1b && o.op != 0x1c
}

// wide is how many locals of each kind a chain has: more than there are registers.
const wide = 16

// chain builds a function that performs an operation n times and stores the results. It
// returns all its locals, so that they stay live.
func chain(o operation, n int, how operands) []byte {
	b := &builder{dataCount: 1}
	b.sinks()
	b.table = []byte{1, wasm.Funcref, 0, 30}
	b.element = []byte{1, 3, 0, 1, 0} // declares a function for ref.func
	empty := b.fn("", "", 0)
	var params []byte
	at := map[byte]int{}
	for i := range len(kinds) {
		if strings.IndexByte(o.takes+"i", kinds[i]) >= 0 {
			at[kinds[i]] = len(params)
			params = append(params, strings.Repeat(types[i:i+1], wide)...)
		}
	}
	turn := map[byte]int{}
	var code []byte
	for range n {
		if how == afterCalls {
			code = append(code, call(empty)...)
		}
		for i, k := range []byte(o.takes) {
			if how != inRegisters {
				turn[k]++
			}
			code = append(code, getLocal(uint32(at[k]+turn[k]%wide))...)
			if i == 0 && how >= recomputed {
				code = append(code, 0x23, 0, 0x73) // xor with a global
			}
		}
		code = append(code, o.code...)
		for _, k := range []byte(o.gives) {
			code = append(code, 0x24, byte(strings.IndexByte(kinds, k)))
		}
	}
	results := params[:min(len(params), 100)]
	b.fnOf(string(params), string(results), nil, code, getLocals(0, len(results)))
	b.putData(0, "abc")
	return b.job(i32(0))
}
