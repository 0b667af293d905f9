package sandbox

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func flowing(change func(*job.Config)) job.Call {
	c := job.Call{Config: job.Config{Name: "flow", Kind: job.Dataflow}}
	if change != nil {
		change(&c.Config)
	}
	return c
}

// pipe builds a dataflow job. Its memory begins with the elements "abc" and "de"; add
// returns code that adds one of them.
func pipe(build func(b *builder, add func(at, n int64) []byte) (fetch, process []byte)) []byte {
	b := (&builder{}).putData(0, "abcde")
	f := b.abi(abi.FuncBatchAdd)
	fetch, process := build(b, func(at, n int64) []byte { return invokes(f, at, n) })
	return b.entry(abi.ExportFetch, fetch).entry(abi.ExportProcess, process).guest()
}

func TestDataflowOneBatch(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		count, read, result := b.abi(abi.FuncBatchCount), b.abi(abi.FuncBatchRead), b.abi(abi.FuncResultSet)
		return slices.Concat(drop(add(0, 3)), drop(add(3, 2)), i32(0)), slices.Concat(
			store8(64, call(count), i32('0'), op(opI32Add)),
			store8(65, invokes(read, 0, 80, 2), i32('0'), op(opI32Add)), // too small: only the length
			store8(66, invokes(read, 1, 67, 2), i32('0'), op(opI32Add)),
			store8(69, invokes(read, 2, 80, 2), i32('z'), op(opI32Add)),
			invokes(result, 64, 6))
	})
	out := runOnce(t, wasm, flowing(nil))
	expect(t, out, job.OK, "")
	if string(out.Result) != "232dev" || out.Flow != (job.Flow{Batches: 1, Succeeded: 2}) {
		t.Errorf("result %q, flow %+v", out.Result, out.Flow)
	}
}

func TestDataflowEnds(t *testing.T) {
	t.Parallel()
	ok := i32(0)
	for _, tt := range []struct {
		name           string
		fetch, process []byte // fetch adds an element if it begins with a drop
		adds           bool
		verdict        job.Verdict
		code           int32
		text           string
		flow           job.Flow
	}{
		{"nothing", ok, ok, false, job.Nothing, 3, "", job.Flow{}},
		{"says nothing", i32(3), ok, false, job.Nothing, 3, "", job.Flow{}},
		{"says nothing beside something", i32(3), ok, true, job.Nothing, 3, "", job.Flow{}},
		{"fetch fails", i32(130), ok, true, job.Failure, 130, "code 130", job.Flow{}},
		{"fetch wants another attempt", i32(2), ok, false, job.Retryable, 2, "another attempt", job.Flow{}},
		{"fetch traps", slices.Concat(op(opUnreachable), ok), ok, false, job.Failure, 0, "wasmjob_fetch: ", job.Flow{}},
		{"process fails", ok, i32(131), true, job.Failure, 131, "code 131", job.Flow{Batches: 1, Failed: 1}},
		{"process skips", ok, i32(3), true, job.Nothing, 3, "", job.Flow{Batches: 1, Failed: 1}},
		{"process has no sense", ok, i32(5), true, job.Failure, 5, "wasmjob_process returned 5", job.Flow{Batches: 1, Failed: 1}},
		{"process always traps", ok, op(opUnreachable), true, job.Failure, 0, "wasmjob_process: ", job.Flow{Batches: 1, Failed: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wasm := pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
				if tt.adds {
					tt.fetch = slices.Concat(drop(add(0, 3)), tt.fetch)
				}
				return tt.fetch, tt.process
			})
			for _, streaming := range []bool{false, true} {
				out := runOnce(t, wasm, flowing(func(c *job.Config) { c.Streaming = streaming }))
				expect(t, out, tt.verdict, tt.text)
				if out.Flow != tt.flow || out.Code != tt.code {
					t.Errorf("code %d, flow %+v", out.Code, out.Flow)
				}
			}
		})
	}
}

// threeTimes adds an element in each of its first three calls.
func threeTimes() []byte {
	return pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		return slices.Concat(
			store8(100, plus(load8(100), i32(1))),
			when(slices.Concat(load8(100), i32(4), op(0x49)), drop(add(0, 3))), // i32.lt_u
			i32(0)), i32(0)
	})
}

func TestDataflowStreams(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, threeTimes())
	streaming := flowing(func(c *job.Config) { c.Streaming = true })
	out := e.Run(t.Context(), m, streaming)
	expect(t, out, job.OK, "")
	if out.Flow != (job.Flow{Batches: 3, Succeeded: 3}) || out.Code != 0 {
		t.Errorf("code %d, %+v", out.Code, out.Flow)
	}
	for _, why := range []job.StopReason{job.StopResharding, job.StopDisabled, job.StopShutdown, job.StopSessionLost} {
		asked := 0
		streaming.Why = func() job.StopReason {
			if asked++; asked < 2 {
				return job.Continue
			}
			return why
		}
		out := e.Run(t.Context(), m, streaming)
		expect(t, out, job.OK, "")
		if out.Flow.Batches != 2 || asked != 2 {
			t.Errorf("reason %d: %d batches, asked %d times", why, out.Flow.Batches, asked)
		}
	}
	if out := e.Run(t.Context(), m, flowing(nil)); out.Flow.Batches != 1 {
		t.Errorf("not streaming: %d batches", out.Flow.Batches)
	}
}

// Results of fetch exist only in the first instance, where process traps.
func TestDataflowTrapIsForgivenOnce(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		ack, result := b.abi(abi.FuncBatchAck), b.abi(abi.FuncResultSet)
		return slices.Concat(store8(100, i32(1)), drop(add(0, 3)), drop(add(3, 2)), i32(0)), slices.Concat(
			when(load8(100), drop(invokes(ack, 0, abi.AckFailed)), drop(invokes(result, 0, 1)), op(opUnreachable)),
			i32(0))
	})
	var log strings.Builder
	c := flowing(nil)
	c.Log = textLog(&log)
	out := runOnce(t, wasm, c)
	expect(t, out, job.OK, "")
	if out.Flow != (job.Flow{Batches: 1, Succeeded: 2}) || out.Result != nil {
		t.Errorf("%+v, result %q", out.Flow, out.Result)
	}
	if !strings.Contains(log.String(), "batch is retried in another instance") {
		t.Errorf("log: %s", log.String())
	}
}

func TestDataflowMarks(t *testing.T) {
	t.Parallel()
	// The first call marks 0 as done, 1 as failed, and 2 and 3 for a retry. The second
	// call gets 2 and 3 as its elements 0 and 1, and marks 0 for a retry again. The
	// result holds the element count of each call.
	build := func(last []byte) []byte {
		return pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
			ack, count, result := b.abi(abi.FuncBatchAck), b.abi(abi.FuncBatchCount), b.abi(abi.FuncResultSet)
			return slices.Concat(drop(add(0, 3)), drop(add(0, 3)), drop(add(0, 3)), drop(add(0, 3)), i32(0)), slices.Concat(
				store8(101, plus(call(count), i32('0'))),
				drop(invokes(result, 100, 2)),
				store8(100, load8(101)),
				either(slices.Concat(call(count), i32(4), op(0x46)), // i32.eq
					slices.Concat(
						drop(invokes(ack, 0, abi.AckDone)), drop(invokes(ack, 1, abi.AckRetry)), drop(invokes(ack, 1, abi.AckFailed)),
						drop(invokes(ack, 2, abi.AckRetry)), drop(invokes(ack, 3, abi.AckRetry)), invokes(ack, 4, abi.AckDone),
						i32(4), op(opI32Add)), // -4 for the fifth
					slices.Concat(drop(invokes(ack, 0, abi.AckRetry)), last)))
		})
	}
	out := runOnce(t, build(i32(0)), flowing(nil))
	expect(t, out, job.OK, "")
	if out.Flow != (job.Flow{Batches: 1, Succeeded: 2, Failed: 2}) || string(out.Result) != "42" {
		t.Errorf("%+v, %q", out.Flow, out.Result)
	}
	out = runOnce(t, build(i32(9)), flowing(nil))
	expect(t, out, job.Failure, "no meaning")
	if out.Flow != (job.Flow{Batches: 1, Succeeded: 1, Failed: 3}) {
		t.Errorf("%+v", out.Flow)
	}
	noOutcome := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		ack := b.abi(abi.FuncBatchAck)
		return slices.Concat(drop(add(0, 3)), i32(0)), invokes(ack, 0, 3)
	})
	expect(t, runOnce(t, noOutcome, flowing(nil)), job.Failure, "no outcome 3")
}

// Each subtask reports its start and waits for the others, so all must run at the same
// time. Seven elements in three subtasks are 2, 2 and 3.
func TestDataflowConcurrency(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		asks, count, result := b.abi(abi.FuncCancelled), b.abi(abi.FuncBatchCount), b.abi(abi.FuncResultSet)
		for range 7 {
			fetch = slices.Concat(fetch, drop(add(0, 3)))
		}
		initialized := b.fn("", "", 0, store8(200, i32(1)))
		b.export(abi.ExportInitialize, kindFunc, initialized)
		return slices.Concat(fetch, i32(0)), slices.Concat(
			drop(call(asks)),
			store8(64, plus(call(count), i32('0'))),
			drop(invokes(result, 64, 1)),
			load8(200), op(0x45)) // 0 if initialized
	})
	const n = 3
	var all sync.WaitGroup
	all.Add(n)
	c := flowing(func(c *job.Config) { c.Concurrency = n })
	c.Why = func() job.StopReason { all.Done(); all.Wait(); return job.Continue }
	e := newEngine(t)
	out := e.Run(t.Context(), load(t, e, wasm), c)
	expect(t, out, job.OK, "")
	if out.Flow != (job.Flow{Batches: 1, Succeeded: 7}) || string(out.Result) != "3" || out.PeakBytes != n*pageSize {
		t.Errorf("%+v, result %q, peak %d", out.Flow, out.Result, out.PeakBytes)
	}
	if e.budget.used != 0 || e.budget.active != 0 {
		t.Errorf("budget: %d bytes, %d active", e.budget.used, e.budget.active)
	}
}

// A failing subtask fails the run; the elements of the others count.
func TestDataflowOnePartFails(t *testing.T) {
	t.Parallel()
	build := func(end []byte) []byte {
		return pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
			read := b.abi(abi.FuncBatchRead)
			return slices.Concat(drop(add(0, 3)), drop(add(3, 2)), drop(add(0, 3)), i32(0)),
				either(slices.Concat(invokes(read, 0, 0, 0), i32(2), op(0x46)), end, i32(0))
		})
	}
	c := flowing(func(c *job.Config) { c.Concurrency = 5 })
	want := job.Flow{Batches: 1, Succeeded: 2, Failed: 1}
	if out := runOnce(t, build(i32(140)), c); out.Verdict != job.Failure || out.Code != 140 || out.Flow != want {
		t.Errorf("%s, code %d, %+v", out.Verdict, out.Code, out.Flow)
	}
	out := runOnce(t, build(op(opUnreachable)), c)
	expect(t, out, job.Failure, "unreachable")
	if out.Flow != want {
		t.Errorf("%+v", out.Flow)
	}
}

// The fuel limit applies to the whole run, however it is divided.
func TestDataflowFuel(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		loop := slices.Concat(i32(10_000), setLocal(0),
			op(0x03, 0x40), getLocal(0), i32(-1), op(opI32Add, 0x22, 0, 0x0d, 0, opEnd))
		return slices.Concat(drop(add(0, 3)), drop(add(0, 3)), i32(0)), slices.Concat(loop, i32(0))
	})
	e := newEngine(t)
	m := load(t, e, wasm)
	run := func(parts int, fuel int64) job.Outcome {
		return e.Run(t.Context(), m, flowing(func(c *job.Config) { c.Concurrency, c.Limits.Fuel = parts, fuel }))
	}
	one, two := run(1, 0), run(2, 0)
	if one.Fuel < 10_000 || two.Fuel < one.Fuel*19/10 || two.Fuel > one.Fuel*2 {
		t.Errorf("fuel of one part %d, of two %d", one.Fuel, two.Fuel)
	}
	expect(t, run(2, two.Fuel), job.OK, "")
	if out := run(2, two.Fuel-1); out.Verdict != job.OutOfFuel || out.Fuel < two.Fuel {
		t.Errorf("one unit too little: %s (%s), fuel %d", out.Verdict, out.Error, out.Fuel)
	}
	// Running out of fuel is not a trap that is retried.
	if out := run(1, one.Fuel-1); out.Verdict != job.OutOfFuel || out.Fuel > one.Fuel {
		t.Errorf("%s, fuel %d of %d", out.Verdict, out.Fuel, one.Fuel)
	}
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	code := func(limit, n int64) int32 {
		return runOnce(t, pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
			return slices.Concat(drop(add(0, 3)), add(0, n)), i32(0)
		}), flowing(func(c *job.Config) { c.Limits.Batch = limit })).Code
	}
	if got := code(8, 5); got != 1 {
		t.Errorf("index of the second: %d", got)
	}
	if got := code(8, 6); got != abi.ErrLimit {
		t.Errorf("too long: %d", got)
	}
	r := &run{ctx: t.Context(), compiled: &compilation{engine: newEngine(t)}}
	b := newBatch(&job.Limits{})
	defer b.release(r)
	for range maxElements {
		if b.add(r, nil) < 0 {
			t.Fatal("refused too early")
		}
	}
	if b.add(r, nil) != abi.ErrLimit {
		t.Error("too many elements")
	}
}

// State is saved batch by batch. A failed batch saves none of it.
func TestDataflowState(t *testing.T) {
	t.Parallel()
	build := func(process func(set uint32) []byte) []byte {
		return pipe(func(b *builder, add func(at, n int64) []byte) (fetch, code []byte) {
			set := b.abi(abi.FuncStateSet)
			b.putData(100, "0").putData(110, "fptu")
			return slices.Concat(
				store8(100, plus(load8(100), i32(1))),
				drop(invokes(set, 110, 1, 100, 1)), // f = the number of the batch
				drop(add(0, 3)), drop(add(0, 3)), i32(0)), process(set)
		})
	}
	run := func(wasm []byte, change func(*job.Config)) (job.Outcome, string) {
		s := &fakeState{}
		c := flowing(change)
		c.Config.Allow.State, c.State = true, s
		out := runOnce(t, wasm, c)
		return out, s.String()
	}
	// The third batch fails.
	third := build(func(set uint32) []byte {
		return slices.Concat(drop(invokes(set, 111, 1, 100, 1)), load8(100), i32('3'), op(0x46))
	})
	out, kept := run(third, func(c *job.Config) { c.Streaming = true })
	expect(t, out, job.Failure, "code 1")
	if kept != "f=2 p=2" || out.Flow != (job.Flow{Batches: 3, Succeeded: 4, Failed: 2}) {
		t.Errorf("kept %s, %+v", kept, out.Flow)
	}
	// Values set by process before it trapped are discarded; those set by fetch are kept.
	trap := build(func(set uint32) []byte {
		return slices.Concat(
			when(slices.Concat(load8(100), i32('1'), op(0x46)), drop(invokes(set, 112, 1, 100, 1)), op(opUnreachable)),
			drop(invokes(set, 113, 1, 100, 1)), i32(0))
	})
	out, kept = run(trap, nil)
	expect(t, out, job.OK, "")
	if kept != "f=1 u=0" {
		t.Errorf("kept %s", kept)
	}
	// Of two subtasks, the first traps and is retried; the values of the other are kept.
	out, kept = run(trap, func(c *job.Config) { c.Concurrency = 2 })
	expect(t, out, job.OK, "")
	if kept != "f=1 u=0" || out.Flow != (job.Flow{Batches: 1, Succeeded: 2}) {
		t.Errorf("kept %s, %+v", kept, out.Flow)
	}
	// A batch that ends too late is not saved, and no other begins.
	late := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		set, asks := b.abi(abi.FuncStateSet), b.abi(abi.FuncCancelled)
		return slices.Concat(drop(invokes(set, 0, 1, 1, 1)), drop(add(0, 3)), i32(0)),
			slices.Concat(op(0x03, 0x40), call(asks), op(0x45, 0x0d, 0, opEnd), i32(0)) // until it should stop
	})
	out, kept = run(late, func(c *job.Config) {
		c.Streaming, c.Timeout, c.Limits.Grace = true, time.Millisecond, time.Hour
	})
	expect(t, out, job.Deadline, "deadline of 1ms passed")
	if kept != "" || out.Flow != (job.Flow{Batches: 1, Succeeded: 1}) {
		t.Errorf("kept %s, %+v", kept, out.Flow)
	}
	// A listener that fails afterwards changes nothing, and neither do the values that it
	// set.
	b := &builder{}
	set := b.abi(abi.FuncStateSet)
	wasm := b.putData(0, "ea").entry(abi.ExportExecute, invokes(set, 0, 1, 0, 1)).
		entry(abi.ExportAfter, drop(invokes(set, 1, 1, 1, 1)), op(opUnreachable)).guest()
	out, kept = run(wasm, func(c *job.Config) { c.Kind = job.Simple })
	expect(t, out, job.OK, "")
	if kept != "e=e" {
		t.Errorf("kept %s", kept)
	}
}

// What the listener sets after batches is saved with a run that has succeeded, and what a fetch has set that
// skips is not.
func TestDataflowStateOfListener(t *testing.T) {
	t.Parallel()
	for code, want := range map[int32]string{0: "a=2 f=2 p=1", 1: "f=1 p=1", 3: "a=2 f=1 p=1"} { // of the second fetch
		wasm := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
			set := b.abi(abi.FuncStateSet)
			b.putData(100, "0").putData(110, "fpa").entry(abi.ExportAfter, invokes(set, 112, 1, 100, 1))
			return slices.Concat(
				store8(100, plus(load8(100), i32(1))),
				drop(invokes(set, 110, 1, 100, 1)),
				when(slices.Concat(load8(100), i32('2'), op(0x46)), i32(int64(code)), op(0x0f)), // return
				drop(add(0, 3)), i32(0)), invokes(set, 111, 1, 100, 1)
		})
		s := &fakeState{}
		c := flowing(func(c *job.Config) { c.Streaming = true })
		c.Config.Allow.State, c.State = true, s
		runOnce(t, wasm, c)
		if kept := s.String(); kept != want {
			t.Errorf("fetch returns %d: kept %q, want %q", code, kept, want)
		}
	}
}
