package sandbox

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// The engine stores some numbers in few bits of its machine code. This table lists the
// bits, and the limits that keep modules below them. Review it with each version of the
// engine. Nothing was measured on arm64.
//
//	calls on amd64: 31 bits, not checked         the limit on machine code, before and after compiling
//	calls on arm64: 26 bits, with islands        the same; more than 31 bits is a panic, and that a refusal
//	jumps, constants, tables in a function:      16 MiB for a function
//	    31 bits; arm64 26 and 19, with islands
//	length of a function on arm64: 16 MiB        16 MiB for a function
//	frame, for values kept over calls: 31 bits   such values cost code and time: 10,000 vectors, which
//	                                             are 0.2 MB, pass, and 20,000 are refused
//	parameters and results on the stack: 32      1,000 and 100 values
//	stack: each function checks it; the last     frames from none to 0.2 MB recurse until they are refused
//	    32 bytes are reserved for the way out
//	values of a function: 28 bits, else a panic  7.6 MB of code
//	instructions that make them: 32 bits         memory for compiling: 512 MB
//	locals: 28 bits, else a panic                50,000
//	variables, imports, tables: 31 bits of bytes 100,000, 10,000 and 100, some megabytes
//	segments, by number: 32 bits                 100,000
//	address: 32 bits and an offset of 32, added  the engine; the last bytes are reached below
//	    in 64 bits
//	types of functions of all modules: 27 bits   100,000 of a module. They are never freed: modules with
//	                                             new types leak, some megabytes each at most
//
// The test uses these numbers at the highest values that a module may have. If one were
// truncated, the guest would trap or end the host, so each guest compares what it reads
// with what it wrote.
func TestFarEndsAreReached(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	last := func(b *builder, what []byte) []byte { // 0 if the result is 7
		return b.job(what, i32(7), op(0x6b))
	}
	for name, build := range map[string]func(b *builder) []byte{
		"variables": func(b *builder) []byte {
			for range 99_990 {
				b.globals = append(b.globals, []byte{0x7f, 1, 0x41, 3, 0x0b})
			}
			return last(b, slices.Concat(i32(7), op(0x24), uleb(99_989), op(0x23), uleb(99_989)))
		},
		"imports": func(b *builder) []byte {
			var f uint32
			for range 9_990 {
				f = b.fromHost(wasiModule, "sched_yield", "", valI32)
			}
			return last(b, plus(call(f), i32(7)))
		},
		"functions": func(b *builder) []byte {
			seven := b.fn("", valI32, 0, i32(7))
			for range 50_000 {
				b.funcs = append(b.funcs, b.funcs[0])
				b.bodies = append(b.bodies, []byte{4, 0, 0x10, byte(seven), 0x0b})
			}
			return last(b, call(50_000))
		},
		"tables": func(b *builder) []byte {
			b.table = append([]byte{100}, bytes.Repeat([]byte{0x70, 0, 1}, 100)...)
			return last(b, slices.Concat(op(0xd2), uleb(0), i32(6), op(0xfc, 15, 99, opDrop, 0xfc, 16, 99)))
		},
		"segments": func(b *builder) []byte {
			for range 99_000 {
				b.data = append(b.data, []byte{1, 0})
			}
			b.data = append(b.data, []byte{1, 1, 7})
			b.dataCount = 99_001
			return last(b, slices.Concat(i32(64), i32(0), i32(1), op(0xfc, 8), uleb(99_000), op(0), load8(64)))
		},
		"places in memory": func(b *builder) []byte {
			b.pages(900)
			at := slices.Concat(uleb(0), uleb(900<<16-4))
			return last(b, slices.Concat(i32(0), i32(7), op(0x36), at, i32(0), op(0x28), at))
		},
		"values on the stack": func(b *builder) []byte {
			b.fn("", "", 0)
			return last(b, append(call(b.framed(10_000)), i32(7)...))
		},
		"parameters": func(b *builder) []byte {
			f := b.fnOf(strings.Repeat("\x7b", 999)+valI32, valI32, nil, getLocal(999))
			zero := slices.Concat(op(0xfd, 12), make([]byte, 16))
			return last(b, slices.Concat(bytes.Repeat(zero, 999), i32(7), call(f)))
		},
		"targets": func(b *builder) []byte {
			n := 20_000
			f := b.fnOf(valI32, valI32, nil, op(0x02, 0x40, 0x02, 0x40), getLocal(0), op(0x0e), uleb(uint32(n)), make([]byte, n), op(1),
				op(opEnd), i32(7), op(0x0f, opEnd), i32(8))
			return last(b, invokes(f, int64(n-1)))
		},
		"code": func(b *builder) []byte { // jumps over several megabytes
			b.sinks()
			n := 15_000
			f := b.fnOf(valI32+"\x7c", valI32, nil, op(0x02, 0x40), getLocal(0), op(0x0d, 0), bytes.Repeat(slices.Concat(getLocal(1), op(0x24, 3, 0x23, 3, 0xb1, 0x24, 1)), n),
				i32(8), op(0x0f, opEnd), i32(7))
			return last(b, slices.Concat(i32(1), op(0x44), make([]byte, 8), call(f)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, e, build(&builder{}))
			if out := e.Run(t.Context(), m, job.Call{}); out.Verdict != job.OK {
				t.Error(out.Error)
			}
		})
	}
}

// TestFramesBeyondTheStack recurses with frames of many sizes until the engine's stack is
// exhausted.
func TestFramesBeyondTheStack(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, n := range []int{0, 1, 7, 100, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := &builder{}
			f := b.framed(n)
			m := load(t, e, b.job(call(f), i32(0)))
			if out := e.Run(t.Context(), m, job.Call{}); out.Verdict == job.OK || !strings.Contains(fmt.Sprint(out.Error), "stack overflow") {
				t.Error(out.Verdict, out.Error)
			}
		})
	}
}

// framed adds a function that calls the first one, with n distinct vectors that are
// needed after the call.
func (b *builder) framed(n int) uint32 {
	b.sinks()
	var code []byte
	for i := range n {
		code = append(append(append(code, getLocal(uint32(max(i-1, 0)))...), 0x23, 4, 0xfd, 0x6e), setLocal(uint32(i))...)
	}
	code = append(code, call(0)...)
	for i := range n {
		code = append(append(code, getLocal(uint32(i))...), 0x24, 4)
	}
	return b.fnOf("", "", []group{{n, 0x7b}}, code)
}
