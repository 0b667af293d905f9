package sandbox

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// hardShape is small code that compiles to much machine code, or takes much memory to
// compile. n is the number of repetitions.
type hardShape struct {
	name  string
	n     int // a size that compiles quickly
	full  int // a size that may exceed a limit
	build func(b *builder, n int)

	upTo   cost // by which factor estimates may be too high; zero: two
	square bool // the memory grows with the square of the size
}

func hardShapes() []hardShape {
	const most = 100
	ints, floats, vectors := strings.Repeat("\x7f", most), strings.Repeat("\x7c", most), strings.Repeat("\x7b", most)
	leave := op(0x23, 0, 0x0d, 0) // br_if on a global
	get, set := getLocals(0, most), setLocals(0, most)
	block := func(kind string, before []byte, label []byte) func(*builder, int) {
		return func(b *builder, n int) {
			b.sinks()
			b.fnOf(kind, kind, nil, op(label[0], 0x40), before, get, set, bytes.Repeat(leave, n), label[1:], op(opEnd), get)
		}
	}
	calls := func(kind string) func(*builder, int) {
		return func(b *builder, n int) {
			f := b.fnOf(kind, kind, nil, get)
			b.fnOf(kind, kind, nil, get, bytes.Repeat(call(f), n))
		}
	}
	all := []hardShape{
		{name: "calls that pass numbers", n: 100, full: 5000, build: calls(ints)},
		{name: "calls that pass floating point numbers", n: 100, full: 4000, build: calls(floats)},
		{name: "calls that pass vectors", n: 100, full: 4000, build: calls(vectors)},
		{name: "calls with constants", n: 60, full: 700, build: func(b *builder, n int) {
			f := b.fnOf(strings.Repeat("\x7e", 1000), "", nil)
			b.fnOf("", "", nil, bytes.Repeat(slices.Concat(bytes.Repeat(i64(0x123456789abcdef), 1000), call(f)), n))
		}},
		{name: "functions with parameters and results", n: 100, full: 20_000, build: func(b *builder, n int) {
			for range n {
				b.fnOf(vectors, vectors, nil, get)
			}
		}},
		{name: "numbers that jumps take along", n: 400, full: 9000, build: block(ints, leave, op(0x02))},
		{name: "vectors that jumps take along", n: 400, full: 7000, build: block(vectors, leave, op(0x02))},
		{name: "vectors that are set again before the end", n: 400, full: 7000, build: block(vectors, leave, slices.Concat(op(0x02), get, set))},
		{name: "numbers that go round a loop", n: 200, full: 5000, build: block(ints, nil, op(0x03))},
		{name: "vectors that go round a loop", n: 200, full: 3000, build: block(vectors, nil, op(0x03))},
		{name: "vectors for each target", n: 400, full: 6000, build: func(b *builder, n int) {
			b.sinks()
			b.fnOf(vectors, vectors, nil, op(0x02, 0x40), leave, get, set, op(0x23, 0, 0x0e), uleb(uint32(n)), make([]byte, n+1), op(opEnd), get)
		}},
		{name: "targets that go round a loop", n: 400, full: 6000, build: func(b *builder, n int) { // its end is unreachable
			b.sinks()
			b.fnOf(ints, ints, nil, op(0x03, 0x40), get, set, op(0x23, 0, 0x0e), uleb(uint32(n)), make([]byte, n+1), op(opEnd), get)
		}},
		{name: "vectors that go round a loop without an end", n: 200, full: 3000, build: func(b *builder, n int) {
			b.sinks()
			b.fnOf(vectors, vectors, nil, op(0x03, 0x40), get, set, bytes.Repeat(leave, n), op(0x0c, 0, opEnd), get)
		}},
		{name: "results of a function", n: 400, full: 7000, build: func(b *builder, n int) {
			b.sinks()
			b.fnOf(vectors, vectors, nil, get, bytes.Repeat(leave, n))
		}},
		{name: "registers that differ", n: 400, full: 40_000, build: func(b *builder, n int) {
			b.sinks()
			f := b.fn("", "", 0)
			kind := strings.Repeat("\x7e", 50) + strings.Repeat("\x7b", 50)
			touch := func(from int) (code []byte) {
				for i := range 16 {
					code = slices.Concat(code, getLocal(uint32(from+i)), op(0x24, 1), getLocal(uint32(50+from+i)), op(0x24, 4))
				}
				return code
			}
			b.fnOf(kind, kind, nil, op(0x02, 0x40), touch(0), bytes.Repeat(leave, n), call(f), touch(25), leave, op(opEnd), get)
		}},
		{name: "calls of the host", n: 300, full: 30_000, build: func(b *builder, n int) {
			f := b.fromHost(wasiModule, "sched_yield", "", valI32)
			b.fnOf("", "", nil, bytes.Repeat(append(call(f), opDrop), n))
		}},
		{name: "calls beside many variables", n: 100, full: 3000, build: func(b *builder, n int) {
			b.variables(2000)
			f := b.fn("", "", 0)
			b.fnOf("", "", nil, bytes.Repeat(call(f), n))
		}},
		{name: "copying", n: 200, full: 20_000, build: func(b *builder, n int) {
			b.fnOf(ints[:3], "", nil, bytes.Repeat(slices.Concat(getLocals(0, 3), op(0xfc, 10, 0, 0)), n))
		}},
		{name: "filling", n: 200, full: 20_000, build: func(b *builder, n int) {
			b.fnOf(ints[:3], "", nil, bytes.Repeat(slices.Concat(getLocals(0, 3), op(0xfc, 11, 0)), n))
		}},
		{name: "indirect calls", n: 300, full: 30_000, build: func(b *builder, n int) {
			b.table = []byte{1, 0x70, 0, 1}
			b.fnOf(valI32, "", nil, bytes.Repeat(slices.Concat(getLocal(0), op(0x11), uleb(b.typ("", "")), op(0)), n))
		}},
	}
	for i := range all {
		switch s := &all[i]; s.name {
		case "calls that pass numbers", "calls that pass floating point numbers", "calls that pass vectors":
			s.square = true // balance checks precede all of them, and these are loops
		case "calls with constants":
			s.upTo = cost{2, 3.5} // constants count as values that loops hold
		case "calls of the host", "copying", "filling":
			s.upTo = cost{3, 2} // metering adds code that is far from the worst case
		}
	}
	for _, o := range operations() {
		switch o.op {
		case 0x262: // i8x16.popcnt
			all = append(all, hardShape{name: "popcnt", n: 1000, full: 150_000, build: func(b *builder, n int) {
				b.fnOf("\x7b", "\x7b", nil, getLocal(0), bytes.Repeat(o.code, n))
			}})
		case 0xb1: // i64.trunc_f64_u
			all = append(all, hardShape{name: "cutting off", n: 1000, full: 60_000, build: func(b *builder, n int) {
				b.fnOf("\x7c", "\x7c", nil, getLocal(0), bytes.Repeat(slices.Concat(o.code, op(0xba)), n))
			}})
		}
	}
	return all
}

// variables adds globals that code may set.
func (b *builder) variables(n int) {
	for range n {
		b.globals = append(b.globals, []byte{wasm.I64, 1, 0x42, 0, opEnd})
	}
}

func (s hardShape) module(n int) []byte {
	b := &builder{}
	s.build(b, n)
	return b.job(i32(0))
}

// largest returns roughly the largest size that is accepted.
func (s hardShape) largest(t *testing.T) int {
	t.Helper()
	n := s.full
	for {
		if _, err := estimateCost(meteredOf(t, s.module(n)), 0); err == nil {
			return n
		}
		n -= n / 5
	}
}

// TestCalibrationOfShapes compiles the code that costs the most for its size. Estimates
// are at least the real cost and at most twice that. The real cost grows only with the
// size, so this also holds at the limit.
func TestCalibrationOfShapes(t *testing.T) { //nolint:paralleltest // measures memory of the process
	if runtime.GOARCH != "amd64" {
		t.Skip("left out: prices are those of amd64")
	}
	for _, s := range hardShapes() {
		t.Run(s.name, func(t *testing.T) { //nolint:paralleltest // as above
			n := s.n
			if *fullSize {
				n = s.largest(t) / 4
			}
			upTo := s.upTo
			if upTo == (cost{}) {
				upTo = cost{2, 2}
			}
			says, is := slope(t, estimated, s.module, n, 4*n), slope(t, measured, s.module, n, 4*n)
			ratio := says.over(is)
			t.Logf("each %v, estimated %.2f and %.2f times", is, ratio.code, ratio.memory)
			if ratio.code < 0.99 || ratio.code > upTo.code {
				t.Errorf("estimated %.0f bytes of machine code, in truth %.0f", says.code, is.code)
			}
			if ratio.memory < 0.99 || ratio.memory > upTo.memory {
				t.Errorf("estimated %.0f bytes of memory, in truth %.0f", says.memory, is.memory)
			}
			if more := slope(t, measured, s.module, n, 2*n).over(is); more.code < 0.9 || more.code > 1.1 || more.memory < 0.7 && !s.square {
				t.Errorf("costs do not grow with the size alone: at first %.2f times as much code, %.2f times as much memory", more.code, more.memory)
			}
		})
	}
}

// TestMachineCodeIsBounded has modules whose machine code the engine could not link: it
// keeps 32 bits of the distance of a call.
func TestMachineCodeIsBounded(t *testing.T) {
	t.Parallel()
	hundred := strings.Repeat(valI32, 100)
	b := &builder{}
	f := b.fn(hundred, hundred, 0, getLocals(0, 100))
	for range 75 {
		b.fn(hundred, hundred, 0, getLocals(0, 100), bytes.Repeat(call(f), 9990))
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "")

	// None of the functions is large.
	b = &builder{}
	f = b.fn(hundred, hundred, 0, getLocals(0, 100))
	for range 700 {
		b.fn(hundred, hundred, 0, getLocals(0, 100), bytes.Repeat(call(f), 300))
	}
	b.putData(0, strings.Repeat("a", 1<<20))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "up to this one")

	// A jump passes on all variables that were set before it, even if they are set again
	// afterwards.
	b = &builder{}
	b.sinks()
	get, set := getLocals(0, 400), setLocals(0, 400)
	b.fn("", "", 400, op(0x02, 0x40, 0x23, 0, 0x0d, 0), get, set, bytes.Repeat(op(0x23, 0, 0x0d, 0), 20_000), get, set, op(opEnd), get, bytes.Repeat(op(opDrop), 400))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "")

	// The compiler reloads every variable after each call, and metered functions and
	// loops contain calls.
	b = &builder{}
	b.variables(90_000)
	f = b.fn("", "", 0)
	b.fn("", "", 0, bytes.Repeat(call(f), 1000))
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "")
	b = &builder{}
	b.variables(90_000)
	for range 5000 {
		b.fn("", "", 0, forever())
	}
	wantRefusal(t, inspect(b.job(i32(0))), TooBig, "")

	// Each type has its own machine code.
	b = &builder{}
	for i := range 900 {
		b.types = append(b.types, slices.Concat([]byte{0x60}, text(strings.Repeat("\x7b", 1000-i%50)), text(strings.Repeat("\x7b", 100))))
	}
	if err := inspect(b.job(i32(0))); err != nil {
		t.Error(err)
	}
}
