package sandbox

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", maxMetricName)
	var a asking
	a.ask(abi.FuncMetricAdd, "rows", 2.5).ask(abi.FuncMetricAdd, "rows", 2.5).ask(abi.FuncMetricAdd, "a.B-c_9", -1.0).
		ask(abi.FuncMetricAdd, "", 1.0).ask(abi.FuncMetricAdd, "no good", 1.0).ask(abi.FuncMetricAdd, long, 0.0).ask(abi.FuncMetricAdd, long+"m", 1.0).
		ask(abi.FuncMetricAdd, "\u00e9", 1.0).ask(abi.FuncMetricAdd, "rows", math.NaN()).ask(abi.FuncMetricAdd, "rows", math.Inf(1)).
		ask(abi.FuncMetricAdd, "big", math.MaxFloat64).ask(abi.FuncMetricAdd, "big", math.MaxFloat64)
	const bad = abi.ErrInvalid
	_, out := a.wants(t, job.Call{}, 0, 0, 0, bad, bad, 0, bad, bad, bad, bad, 0, bad)
	if len(out.Metrics) != 4 || out.Metrics["rows"] != 5 || out.Metrics["a.B-c_9"] != -1 || out.Metrics["big"] != math.MaxFloat64 {
		t.Errorf("%v", out.Metrics)
	}
}

func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	o := newHostState(&job.Call{})
	for i := range maxMetrics - 1 {
		if o.addMetric(strings.Repeat("m", i+1), 1) != 0 {
			t.Fatalf("name %d is refused", i)
		}
	}
	one, two := o.fork(), o.fork()
	if one.addMetric("m", 1) != 0 || one.addMetric("one", 1) != 0 || one.addMetric("more", 1) != abi.ErrLimit || two.addMetric("two", 1) != 0 {
		t.Error("names of forks")
	}
	o.join(one, false)
	o.join(two, false)
	if sums := o.metrics(); len(sums) != maxMetrics || sums["m"] != 2 || sums["one"] != 1 || sums["two"] != 0 {
		t.Errorf("%d names, %v", len(sums), sums)
	}
}

func TestClockAndRandom(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_234_567_890_123)
	var a asking
	room := a.room(64)
	a.ask(abi.FuncRandom, 0, maxRandom).ask(abi.FuncNow).ask(abi.FuncRandom, room, 32).ask(abi.FuncRandom, room, 0)
	mem, _ := a.wants(t, granted(func(c *job.Call) { c.Now = func() time.Time { return at } }), 0, at.UnixMilli(), 0, 0)
	if bytes.Equal(mem[room:room+32], make([]byte, 32)) {
		t.Error("no random bytes")
	}
	var none asking
	none.ask(abi.FuncNow).ask(abi.FuncRandom, room, 32)
	none.wants(t, job.Call{}, abi.ErrDenied, abi.ErrDenied)
	var large asking
	large.b.pages(2)
	large.ask(abi.FuncRandom, 0, maxRandom+1)
	large.wants(t, granted(nil), abi.ErrLimit)
}

// WASI uses the granted clock as well.
func TestClockOfWASI(t *testing.T) {
	t.Parallel()
	at := time.Unix(7, 5)
	b := &builder{}
	get := b.fromHost(wasiModule, "clock_time_get", valI32+valI64+valI32, valI32)
	result := b.abi(abi.FuncResultSet)
	wasm := b.job(drop(append(append(append(i32(0), i64(1)...), i32(64)...), call(get)...)), invokes(result, 64, 8))
	out := runOnce(t, wasm, granted(func(c *job.Call) { c.Now = func() time.Time { return at } }))
	if want := []byte{5, 0x86, 0x3b, 0xa1, 1, 0, 0, 0}; !bytes.Equal(out.Result, want) {
		t.Errorf("%x, want %x (%s)", out.Result, want, out.Error)
	}
}

// asleep runs a sleeping guest in virtual time.
func asleep(t *testing.T, a *asking, c job.Call, want int64, took time.Duration, verdict job.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), a.wasm())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		out := e.Run(t.Context(), m, c)
		if got := time.Since(began).Round(time.Millisecond); got != took || out.Verdict != verdict {
			t.Errorf("%s after %s, want %s after %s (%s)", out.Verdict, got, verdict, took, out.Error)
		}
		if len(out.Result) == pageSize {
			if got := int64(int8(out.Result[answersAt])); got != want {
				t.Errorf("answer %d, want %d", got, want)
			}
		}
		m.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	napping := func(ms int) *asking {
		a := &asking{}
		return a.ask(abi.FuncSleep, ms)
	}
	limits := job.Limits{Grace: time.Hour}
	asleep(t, napping(3_600_000), job.Call{}, 0, time.Hour, job.OK)
	asleep(t, napping(0), job.Call{}, 0, 0, job.OK)
	// The deadline wakes it, not the end of the grace period.
	asleep(t, napping(-1), job.Call{Config: job.Config{Timeout: time.Second, Limits: limits}}, abi.ErrCancelled, time.Second, job.Deadline)
	began := false
	var at time.Time
	after := func(d time.Duration) func() job.StopReason {
		return func() job.StopReason {
			if !began {
				began, at = true, time.Now()
			}
			if time.Since(at) < d {
				return job.Continue
			}
			return job.StopResharding
		}
	}
	asleep(t, napping(60_000), job.Call{Why: after(120 * time.Millisecond)}, abi.ErrCancelled, 150*time.Millisecond, job.OK)
	began = false
	asleep(t, napping(60_000), job.Call{Why: after(0)}, abi.ErrCancelled, 0, job.OK)
}

// A streaming job finishes its batch unless it really has to stop.
func TestStopCode(t *testing.T) {
	t.Parallel()
	for reason := job.Continue; reason <= job.StopSessionLost; reason++ {
		for _, streaming := range []bool{false, true} {
			r := newRun(&job.Call{
				Config: job.Config{Kind: job.Dataflow, Streaming: streaming}, Why: func() job.StopReason { return reason },
			}, &compilation{}, time.Now())
			r.ctx = t.Context()
			want := int32(abi.ErrCancelled)
			switch {
			case reason == job.Continue, streaming && (reason == job.StopDisabled || reason == job.StopResharding):
				want = 0
			case reason == job.StopDeadline:
				want = abi.ErrTimeout
			}
			if got := r.stopCode(); got != want {
				t.Errorf("reason %d, streaming %v: %d, want %d", reason, streaming, got, want)
			}
		}
	}
}

func TestSleepEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	var a asking
	a.ask(abi.FuncSleep, -1)
	e := newEngine(t)
	out := e.Run(ctx, load(t, e, a.wasm()), job.Call{Why: func() job.StopReason {
		if asked++; asked == 2 {
			cancel()
		}
		return job.Continue
	}})
	if out.Verdict != job.Stopped && out.Verdict != job.OK {
		t.Errorf("%s %s", out.Verdict, out.Error)
	}
}

// A guest without a clock sees time advance by its sleep.
func TestSleepMovesTheFixedClock(t *testing.T) {
	t.Parallel()
	b := &builder{}
	get := b.fromHost(wasiModule, "clock_time_get", valI32+valI64+valI32, valI32)
	result, sleep := b.abi(abi.FuncResultSet), b.abi(abi.FuncSleep)
	wasm := b.job(drop(invokes(sleep, 3)),
		drop(append(append(append(i32(0), i64(1)...), i32(64)...), call(get)...)), invokes(result, 64, 8))
	out := runOnce(t, wasm, job.Call{Scheduled: time.Unix(0, 0)})
	if want := []byte{0, 0x09, 0x3d, 0, 0, 0, 0, 0}; !bytes.Equal(out.Result, want) { // 4 ms: one for the reading
		t.Errorf("%x, want %x (%s)", out.Result, want, out.Error)
	}
}

// pointers lists the positions of pointers among the parameters of a function; each is
// followed by its length.
func pointers() map[string][]int {
	return map[string][]int{
		abi.FuncCtxStr: {1}, abi.FuncCtxJSON: {0}, abi.FuncConfigGet: {0, 2}, abi.FuncLog: {1}, abi.FuncResultSet: {0}, abi.FuncErrorSet: {0},
		abi.FuncMetricAdd: {0}, abi.FuncRandom: {0},
		abi.FuncStateGet: {0, 2}, abi.FuncStateSet: {0, 2}, abi.FuncStateDelete: {0}, abi.FuncSecretGet: {0, 2},
		abi.FuncHTTPRequest: {0}, abi.FuncHTTPHeader: {1, 3}, abi.FuncHTTPRead: {1},
	}
}

// No function accesses anything outside the guest's memory, even if other arguments are
// wrong as well.
func TestPointersOutside(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, f := range abi.Functions() {
		if f.When&abi.InRun == 0 {
			continue
		}
		places := pointers()[f.Name]
		if known := len(places) > 0; known != strings.Contains(f.Params, "ii") {
			t.Errorf("%s: does it have pointers?", f.Name)
		}
		for _, place := range places {
			for _, bad := range [][2]int{{pageSize, 1}, {pageSize - 1, 2}, {0, pageSize + 1}, {1, -1}, {-1, 1}, {-1, -1}, {-16, 32}, {pageSize + 1, 0}, {math.MinInt32, math.MinInt32}} {
				var a asking
				var args []any
				for i, kind := range f.Params {
					switch {
					case kind == 'F':
						args = append(args, 1.0)
					case kind == 'I':
						args = append(args, 1)
					case i == place:
						args = append(args, bad[0])
					case i == place+1:
						args = append(args, bad[1])
					default:
						args = append(args, 1)
					}
				}
				a.ask(f.Name, args...)
				out := e.Run(t.Context(), load(t, e, a.wasm()), granted(nil))
				if out.Verdict != job.Failure || !strings.Contains(out.Error, "outside of the memory") {
					t.Errorf("%s with %v at %d: %s %q", f.Name, bad, place, out.Verdict, out.Error)
				}
			}
		}
	}
}
