package sandbox

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/job"
)

// branching is a function that calls itself, or executes call, twice until its parameter
// is 0. With 60 that practically never ends.
func branching(call ...byte) [][]byte {
	again := slices.Concat(getLocal(0), i32(-1), op(opI32Add), call)
	return [][]byte{getLocal(0), op(0x04, 0x7f), again, again, op(opI32Add, 0x05), i32(0), op(opEnd)}
}

func again(code ...[]byte) []byte {
	return slices.Concat(op(0x03, 0x40), slices.Concat(code...), op(0x0c, 0, opEnd))
}

// endless are modules that would run for years, each in its own way. They ask the host
// once whether to stop.
func endless() map[string][]byte {
	all := map[string][]byte{}
	add := func(name string, build func(b *builder) (code []byte)) {
		b := &builder{}
		asks := b.abi(abi.FuncCancelled)
		code := build(b)
		all[name] = b.job(call(asks), op(opDrop), code)
	}
	add("loop", func(*builder) []byte { return forever() })
	add("calls", func(b *builder) []byte {
		f := b.fn(valI32, valI32, 0, branching(call(b.imported)...)...)
		return slices.Concat(i32(60), call(f))
	})
	add("calls of each other", func(b *builder) []byte {
		f := b.fn(valI32, valI32, 0, branching(call(b.imported+1)...)...)
		b.fn(valI32, valI32, 0, branching(call(f)...)...)
		return slices.Concat(i32(60), call(f))
	})
	add("calls by a table", func(b *builder) []byte {
		b.table, b.element = []byte{1, 0x70, 0, 1}, []byte{1, 0, 0x41, 0, opEnd, 1, byte(b.imported)}
		byTable := slices.Concat(i32(0), op(0x11, byte(b.typ(valI32, valI32)), 0))
		b.fn(valI32, valI32, 0, branching(byTable...)...)
		return slices.Concat(i32(60), byTable)
	})
	add("a chain of calls", func(b *builder) []byte { // no function calls itself
		last := b.fn("", "", 0)
		for range 60 {
			last = b.fn("", "", 0, call(last), call(last))
		}
		return slices.Concat(call(last), i32(0))
	})
	const size = 512 * pageSize
	add("filling", func(b *builder) []byte {
		b.pages(size / pageSize)
		return slices.Concat(again(i32(0), i32(7), i32(size), op(0xfc, 11, 0)), op(opUnreachable))
	})
	add("copying", func(b *builder) []byte {
		b.pages(size / pageSize)
		return slices.Concat(again(i32(1), i32(0), i32(size-1), op(0xfc, 10, 0, 0)), op(opUnreachable))
	})
	add("filling a table", func(b *builder) []byte {
		b.table = slices.Concat(op(1, 0x70, 0), uleb(maxTable))
		return slices.Concat(again(i32(0), op(0xd0, 0x70), i32(maxTable), op(0xfc, 17, 0)), op(opUnreachable))
	})
	add("growing", func(*builder) []byte {
		return slices.Concat(again(i32(0), op(0x40, 0, opDrop)), op(opUnreachable))
	})
	return all
}

func TestEndlessGuestsEndAtTheDeadline(t *testing.T) {
	t.Parallel()
	c := job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}}
	for name, wasm := range endless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := runOnce(t, wasm, c)
			expect(t, out, job.Deadline, "deadline of 1ms passed; ended 1ms later")
		})
	}
}

// A garbage collection has to stop every goroutine, and all of them wait until it has. A
// guest that never stopped would block the process.
func TestEndlessGuestsLetTheCollectorThrough(t *testing.T) {
	t.Parallel()
	for name, wasm := range endless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			running := make(chan struct{})
			go func() {
				<-running
				runtime.GC()
				runtime.GC()
				cancel()
			}()
			e := newEngine(t)
			out := e.Run(ctx, load(t, e, wasm), job.Call{Why: func() job.StopReason { close(running); return job.Continue }})
			expect(t, out, job.Stopped, "cancelled")
		})
	}
}

func TestEndlessGuestsEndWithTheirFuel(t *testing.T) {
	t.Parallel()
	const limit = 1_000_000
	c := job.Call{Config: job.Config{Limits: job.Limits{Fuel: limit}}}
	e := newEngine(t)
	for name, wasm := range endless() {
		m := load(t, e, wasm)
		var first int64
		for range 3 {
			out := e.Run(t.Context(), m, c)
			expect(t, out, job.OutOfFuel, "the fuel of 1000000 was used up; raise limits.fuel")
			if !strings.Contains(out.Error, "wasm stack trace:") {
				t.Errorf("%s: nothing says where: %s", name, out.Error)
			}
			if first == 0 {
				first = out.Fuel
			}
			// The limit is exceeded by at most one step of a bulk operation.
			if out.Fuel != first || out.Fuel <= limit || out.Fuel > limit+10_000 {
				t.Errorf("%s: %d of fuel, at first %d", name, out.Fuel, first)
			}
		}
	}
}

func TestFuelIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	// It counts to a million, a thousand times the smallest slice.
	b := &builder{}
	wasm := b.job(op(0x03, 0x40), getLocal(0), i32(1), op(opI32Add, 0x22, 0), i32(1_000_000), op(0x47, 0x0d, 0, opEnd), i32(0))
	var all []int64
	run := func(o Options) {
		e, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int64{0, math.MaxInt64, 100_000_000} {
			out := e.Run(t.Context(), m, job.Call{Config: job.Config{Limits: job.Limits{Fuel: limit}}})
			expect(t, out, job.OK, "")
			all = append(all, out.Fuel)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "cache")
	run(Options{})
	run(Options{CacheDir: dir})
	run(Options{CacheDir: dir})
	if slices.Max(all) != slices.Min(all) || all[0] < 1_000_000 {
		t.Error(all)
	}
	out := runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: all[0]}}})
	expect(t, out, job.OK, "") // exactly enough
	out = runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: all[0] - 20}}})
	expect(t, out, job.OutOfFuel, "")
}

func TestSliceFollowsTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slice int64
		ran   time.Duration
		want  int64
	}{
		{0, time.Hour, firstSlice},
		{4000, betweenYields, 4000},
		{4000, betweenYields / 3, 8000},
		{4000, betweenYields * 3, 2000},
		{minSlice, time.Hour, minSlice},
		{maxSlice, 0, maxSlice},
	} {
		if got := nextSlice(c.slice, c.ran); got != c.want {
			t.Errorf("%d after %s: %d; want %d", c.slice, c.ran, got, c.want)
		}
	}
}

// The fuel is reported for every kind of end of a run.
func TestFuelOfEveryEnd(t *testing.T) {
	t.Parallel()
	b := &builder{}
	start := b.fn("", "", 0, op(opUnreachable))
	atStart := b.starting(start).job(i32(0))
	b = &builder{}
	exit := b.fromHost(wasiModule, "proc_exit", valI32, "")
	for name, wasm := range map[string][]byte{
		"trap":  (&builder{}).job(i32(1), op(opUnreachable)),
		"exit":  b.job(i32(3), call(exit), i32(0)),
		"start": atStart,
	} {
		out := runOnce(t, wasm, job.Call{})
		expect(t, out, job.Failure, "")
		if name != "start" && (out.Fuel < 1 || out.Fuel > 20) {
			t.Errorf("%s: %d of fuel", name, out.Fuel)
		}
	}
}

func TestStartFunctionIsARunsFirstCall(t *testing.T) {
	t.Parallel()
	b := &builder{}
	asks := b.abi(abi.FuncCancelled)
	sets := b.fn("", "", 0, call(asks), op(opDrop), i32(100), i32(7), op(0x3a, 0, 0))
	wasm := b.starting(sets).job(i32(100), op(0x2d, 0, 0), i32(200), op(opI32Add))
	out := runOnce(t, wasm, job.Call{})
	if out.Code != 207 || out.HostCalls != 1 || out.Fuel == 0 {
		t.Errorf("%+v", out)
	}
	b = &builder{}
	f := b.fn("", "", 0, forever())
	wasm = b.starting(f).job(i32(0))
	c := job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}}
	expect(t, runOnce(t, wasm, c), job.Deadline, "deadline of 1ms passed")
	expect(t, runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: 9}}}), job.OutOfFuel, "")
}

// The stack of a trap shows the names and numbers of the original module.
func TestStacksNameTheAuthorsFunctions(t *testing.T) {
	t.Parallel()
	trap := func(named bool) string {
		b := &builder{}
		asks := b.abi(abi.FuncCancelled)
		inner := b.fn("", "", 0, i32(0), i32(0), i32(-1), op(0xfc, 11, 0))
		outer := b.fn("", "", 0, call(asks), op(opDrop), call(inner))
		if named {
			list := slices.Concat([]byte{2}, uleb(inner), text("inner"), uleb(outer), text("outer"))
			b.customSections = section(0, slices.Concat(text("name"), section(1, list)))
		}
		return runOnce(t, b.job(call(outer), i32(0)), job.Call{}).Error
	}
	for text, want := range map[string][]string{
		trap(true):  {"out of bounds memory access", ".memory.fill(", ".inner()", ".outer()", ".$4() i32"},
		trap(false): {"out of bounds memory access", ".memory.fill(", ".$1()", ".$2()", ".$4() i32"},
	} {
		from := 0
		for _, w := range want {
			at := strings.Index(text[from:], w)
			if at < 0 {
				t.Errorf("no %q, or not in its place, in\n%s", w, text)
				break
			}
			from += at
		}
	}
}

func TestReservedNamesAreRefused(t *testing.T) {
	t.Parallel()
	b := &builder{}
	yield := b.fromHost(meter.ImportModule, meter.ImportYield, valI64, valI64)
	wantRefusal(t, inspect(b.job(i64(1), call(yield), op(opDrop), i32(0))), BadImport, meter.ImportModule)

	b = &builder{}
	wasm := b.export(meter.ExportLeft, kindFunc, b.fn("", "", 0)).job(i32(0))
	wantRefusal(t, inspect(wasm), Unsupported, meter.ExportLeft)
}
