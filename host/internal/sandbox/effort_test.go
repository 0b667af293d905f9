package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Code shapes that are small but keep a compiler busy for minutes, or make it take
// gigabytes. Half of each size must pass; otherwise the limit would reject real modules.
func TestShapesThatAreHardToCompile(t *testing.T) {
	t.Parallel()
	rep := bytes.Repeat
	leaveIf := slices.Concat(getLocal(0), op(0x0d, 0))
	increment := func(n int) []byte { // of n variables
		var code [][]byte
		for i := range n {
			code = append(code, getLocal(uint32(i)), i32(1), op(opI32Add), setLocal(uint32(i)))
		}
		return slices.Concat(code...)
	}
	read := func(n int) []byte {
		var code [][]byte
		for i := range n {
			code = append(code, getLocal(uint32(i)), op(opDrop))
		}
		return slices.Concat(code...)
	}
	for name, shape := range map[string]struct {
		n    int // a hundredth of it must pass
		code func(b *builder, n int) (locals int, code []byte)
	}{
		"loops in each other and variables": {1000, func(_ *builder, n int) (int, []byte) {
			return n, slices.Concat(rep(op(0x03, 0x40), n), increment(n), rep(slices.Concat(leaveIf, op(opEnd)), n))
		}},
		"branches and variables": {3000, func(_ *builder, n int) (int, []byte) {
			return n, slices.Concat(increment(n), rep(slices.Concat(op(0x02, 0x40), leaveIf, op(opEnd)), n), increment(n))
		}},
		"branches and values on the stack": {6000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(rep(getLocal(0), n), rep(slices.Concat(op(0x02, 0x40), leaveIf, op(opEnd)), n), rep(op(opDrop), n))
		}},
		"branches in a row": {30_000, func(_ *builder, n int) (int, []byte) {
			return 1, rep(slices.Concat(op(0x02, 0x40), leaveIf, op(opEnd)), n)
		}},
		"loops in each other": {20_000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(rep(op(0x03, 0x40), n), rep(slices.Concat(leaveIf, op(opEnd)), n))
		}},
		"indirect calls": {200_000, func(b *builder, n int) (int, []byte) {
			b.table = []byte{1, 0x70, 0, 1}
			return 1, rep(slices.Concat(getLocal(0), op(0x11), uleb(b.typ("", "")), op(0)), n)
		}},
		"filling": {40_000, func(_ *builder, n int) (int, []byte) {
			return 1, rep(slices.Concat(getLocal(0), getLocal(0), getLocal(0), op(0xfc, 11, 0)), n)
		}},
		"dividing": {500_000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(getLocal(0), rep(slices.Concat(getLocal(0), op(0x6d)), n), op(opDrop))
		}},
		"a straight road": {2_000_000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(getLocal(0), rep(slices.Concat(getLocal(0), op(opI32Add)), n), op(opDrop))
		}},
		"loops in each other that only read": {1000, func(_ *builder, n int) (int, []byte) {
			return 100, slices.Concat(rep(op(0x03, 0x40), n), read(100), rep(slices.Concat(leaveIf, op(opEnd)), n))
		}},
		"loops in each other with parameters": {1000, func(b *builder, n int) (int, []byte) {
			typ := sleb(int64(b.typ(strings.Repeat(valI32, 100), strings.Repeat(valI32, 100))))
			return 1, slices.Concat(rep(getLocal(0), 100), rep(slices.Concat(op(0x03), typ), n),
				rep(slices.Concat(leaveIf, op(opEnd)), n), rep(op(opDrop), 100))
		}},
		"a loop with many ways back": {6000, func(_ *builder, n int) (int, []byte) {
			return 100, slices.Concat(op(0x03, 0x40), read(100), rep(leaveIf, n), op(opEnd))
		}},
		"a loop whose end is unreachable": {20_000, func(_ *builder, n int) (int, []byte) {
			return 100, slices.Concat(op(0x03, 0x40), increment(100), getLocal(0), op(0x0e), uleb(uint32(n)), make([]byte, n+1), op(opEnd))
		}},
		"places in memory and branches": {10_000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(getLocal(0), rep(op(0x28, 0, 0), n), op(opDrop),
				rep(slices.Concat(op(0x02, 0x40), leaveIf, op(opEnd)), n/5))
		}},
		"values that jumps take along": {48_000, func(b *builder, n int) (int, []byte) {
			typ := sleb(int64(b.typ("", strings.Repeat(valI32, 100))))
			return 1, slices.Concat(op(0x02), typ, rep(getLocal(0), 101), op(0x0e), uleb(uint32(n)), make([]byte, n+1), op(opEnd), rep(op(opDrop), 100))
		}},
		// Metered code has a loop after a nesting call.
		"variables behind a recursion": {20_000, func(_ *builder, n int) (int, []byte) {
			return n, slices.Concat(increment(n), call(0), increment(n))
		}},
		// Each loop leads to the next, which seems to need everything that the loop
		// before had.
		"loops in a row and values on the stack": {10_000, func(_ *builder, n int) (int, []byte) {
			return 1, slices.Concat(rep(slices.Concat(getLocal(0), op(0x45, 0x03, 0x40), leaveIf, op(opEnd)), n), rep(op(0x1a), n))
		}},
		// Unreachable code is compiled, too.
		"after the end": {1000, func(_ *builder, n int) (int, []byte) {
			return n, slices.Concat(op(0x02, 0x40, opUnreachable, opEnd),
				rep(op(0x03, 0x40), n), increment(n), rep(slices.Concat(leaveIf, op(opEnd)), n))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func(n int) []byte {
				b := &builder{}
				locals, code := shape.code(b, n)
				b.fn("", "", uint32(locals), code)
				return b.job(i32(0))
			}
			wantRefusal(t, inspect(build(shape.n)), TooBig, "")
			if err := inspect(build(shape.n / 20)); err != nil {
				t.Errorf("a twentieth is refused: %v", err)
			}
		})
	}
}

// The sum of all functions is limited as well.
func TestManyFunctionsThatAreHardToCompile(t *testing.T) {
	t.Parallel()
	b := &builder{}
	loops := slices.Concat(bytes.Repeat(op(0x03, 0x40), 600), bytes.Repeat(slices.Concat(getLocal(0), op(0x0d, 0), op(opEnd)), 600))
	for range 60 {
		b.fn("", "", 1, loops)
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "up to this one")

	b = &builder{}
	targets := slices.Concat(op(0x02, 0x40), i32(0), op(0x0e), uleb(49_000), make([]byte, 49_000+1), op(opEnd))
	for range 40 {
		b.fn("", "", 0, targets)
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "up to this one")

	b = &builder{}
	for i := range 1100 {
		b.typ(strings.Repeat(valI32, 890+i%90)+strings.Repeat(valI64, 1+i/90), "")
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "types of more than")
}

// Costs are estimated for metered code, in which functions have other numbers.
func TestRefusalNamesTheFunction(t *testing.T) {
	t.Parallel()
	b := &builder{}
	b.abi(hostFunctions()[0].name)
	b.fn("", "", 0)
	b.fn("", "", 1, bytes.Repeat(op(0x03, 0x40), 20_000), bytes.Repeat(slices.Concat(getLocal(0), op(0x0d, 0), op(opEnd)), 20_000))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "function 2: the function would take")
}

// The check tracks the stack height: an error of one would grow with the code.
func TestStackIsFollowed(t *testing.T) {
	t.Parallel()
	v128 := slices.Concat(op(0xfd, 12), make([]byte, 16))
	for name, code := range map[string][]byte{
		"calculating": slices.Concat(i32(1), i32(2), op(0x6a), op(0x45), op(0xac), i64(3), op(0x7c), op(0xb9), op(0x9f), op(opDrop)),
		"memory":      slices.Concat(i32(0), i32(0), op(0x28, 2, 0), op(0x36, 2, 0), op(0x3f, 0), op(0x40, 0), op(opDrop)),
		"ranges":      slices.Concat(i32(0), i32(0), i32(0), op(0xfc, 11, 0), i32(0), i32(0), i32(0), op(0xfc, 10, 0, 0)),
		"choosing":    slices.Concat(i32(0), i32(0), i32(0), op(0x1b, opDrop)),
		"vectors": slices.Concat(v128, v128, op(0xfd, 14), v128, op(0xfd, 13), make([]byte, 16), v128, op(0xfd, 0xd5, 0x01),
			v128, v128, op(0xfd, 82), op(0xfd, 77), op(0xfd, 27, 0), op(0xfd, 17), i32(1), op(0xfd, 28, 0), op(0xfd, 83), op(opDrop)),
		"lanes": slices.Concat(i32(0), v128, op(0xfd, 84, 0, 0, 0, opDrop), i32(0), v128, op(0xfd, 88, 0, 0, 0),
			i32(0), op(0xfd, 92, 2, 0), i32(0), v128, op(0xfd, 11, 4, 0), op(opDrop)),
		"blocks": slices.Concat(i32(1), op(0x04, 0x7f), i32(1), op(0x05), i32(2), op(opEnd, opDrop),
			op(0x02, 0x7f), i32(7), op(0x0c, 0, opDrop, opDrop, opEnd), op(opDrop)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &builder{}
			b.fn("", "", 0, code)
			binary := b.job(i32(0))
			m, err := decode(binary, defaultModule)
			if err != nil {
				t.Fatal(err)
			}
			w := costWalk{cost: &compileCost{Module: m}}
			w.beginFunction(0)
			for w.Next() && (w.Op != wasm.OpEnd || len(w.blocks) > 1) {
				w.instruction()
			}
			if w.height != 0 || w.Err() != nil || w.Left() != 0 {
				t.Errorf("%d values are left, %d blocks, %v", w.height, len(w.blocks), w.Err())
			}
			load(t, newEngine(t), binary) // the engine accepts the code
		})
	}
}
