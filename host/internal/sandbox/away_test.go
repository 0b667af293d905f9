package sandbox

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// timed is a worker that measures how long its run had it, including forks.
type timed struct {
	all *timesheet

	held  bool // guarded by all.mu, as is since
	since time.Time
}

type timesheet struct {
	mu    sync.Mutex // guards the fields below
	had   time.Duration
	now   int // workers that are held
	forks int

	none bool // Acquire fails
}

// working returns a worker that a run has acquired.
func working() *timed {
	w := &timed{all: &timesheet{}}
	_ = w.Acquire(context.Background()) // it does not wait
	return w
}

func (w *timed) Release() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.held {
		w.held = false
		w.all.now--
		w.all.had += time.Since(w.since)
	}
}

func (w *timed) Acquire(ctx context.Context) error {
	if w.all.none {
		<-ctx.Done()
		return ctx.Err()
	}
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if !w.held {
		w.held, w.since = true, time.Now()
		w.all.now++
	}
	return nil
}

func (w *timed) Fork() job.Worker {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.all.forks++
	return &timed{all: w.all}
}

// slowService answers after a second, bit by bit.
type slowService struct{ text io.Reader }

func (slowService) Do(ctx context.Context, _ job.HTTPRequest) (*job.HTTPResponse, error) {
	<-time.After(time.Second)
	return &job.HTTPResponse{Status: 200, Body: io.NopCloser(slowService{strings.NewReader("x")}), Calls: 1}, ctx.Err()
}

func (f slowService) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return f.text.Read(p)
}

// slow is a state that takes a second to load.
type slow struct{ fakeState }

func (s *slow) Load(ctx context.Context) (map[string][]byte, error) {
	<-time.After(time.Second)
	return s.fakeState.Load(ctx)
}

func (s *slow) Save(ctx context.Context, values map[string][]byte) error {
	<-time.After(time.Second)
	return s.fakeState.Save(ctx, values)
}

// asks is a guest that calls the functions of the host.
func asks(build func(a *asking)) []byte {
	var a asking
	build(&a)
	return a.wasm()
}

// bubble runs a guest in virtual time, in which only waits take time.
func bubble(t *testing.T, o Options, wasm []byte, do func(t *testing.T, e *Engine, m *Module)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), wasm)
		if err != nil {
			t.Fatal(err)
		}
		do(t, e, m)
		m.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestARunThatWaitsHasNoWorker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		wasm  []byte
		waits int // each for a second
	}{
		{"sleep", asks(func(a *asking) { a.ask(abi.FuncSleep, 1000).ask(abi.FuncSleep, 1000) }), 2},
		// A relative sleep of 10^9 ns, as a subscription to a clock.
		{"sleep of WASI", wasiCall("poll_oneoff", valI32+valI32+valI32+valI32, store32(24, i32(1_000_000_000)), i32(0), i32(64), i32(1), i32(128)), 1},
		{"request", asks(func(a *asking) {
			room := a.room(8)
			a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPRead, 1, room, 8).ask(abi.FuncHTTPRead, 1, room, 8)
		}), 3},
		{"state", asks(func(a *asking) {
			room := a.room(8)
			a.ask(abi.FuncStateGet, "k", room, 8).ask(abi.FuncStateGet, "k", room, 8).ask(abi.FuncStateSet, "k", "v")
		}), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, Options{}, tt.wasm, func(t *testing.T, e *Engine, m *Module) {
				w, began := working(), time.Now()
				c := granted(func(c *job.Call) { c.HTTP, c.State, c.Worker = slowService{}, &slow{}, w })
				out := e.Run(t.Context(), m, c)
				if took := time.Since(began).Round(100 * time.Millisecond); took != time.Duration(tt.waits)*time.Second {
					t.Errorf("it took %s: %s (%s)", took, out.Verdict, out.Error)
				}
				if !w.held {
					t.Error("the guest went on without a worker")
				}
				if w.Release(); w.all.had != time.Duration(tt.waits)*workerGrace {
					t.Errorf("it had its worker for %s of %d waits", w.all.had, tt.waits)
				}
			})
		})
	}
}

func TestARunThatWaitsForMemoryHasNoWorker(t *testing.T) {
	t.Parallel()
	wasm := asks(func(a *asking) { a.ask(abi.FuncSleep, 1000) })
	bubble(t, Options{Budget: 2 << 20}, wasm, func(t *testing.T, e *Engine, m *Module) {
		began := time.Now()
		var runs sync.WaitGroup
		runs.Go(func() { e.Run(t.Context(), m, job.Call{}) }) // memory suffices for only one
		synctest.Wait()
		w := working()
		out := e.Run(t.Context(), m, job.Call{Worker: w})
		runs.Wait()
		if took := time.Since(began); took != 2*time.Second || out.Verdict != job.OK {
			t.Errorf("%s after %s (%s)", out.Verdict, took, out.Error)
		}
		if w.Release(); w.all.had != 2*workerGrace {
			t.Errorf("it had its worker for %s", w.all.had)
		}
	})
}

// Each subtask has its own worker. A run that waits for its subtasks has none.
func TestSubtasksHaveWorkers(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		nap, read := b.abi(abi.FuncSleep), b.abi(abi.FuncBatchRead)
		// The element "de" takes three seconds, "abc" one.
		return slices.Concat(drop(add(0, 3)), drop(add(3, 2)), drop(add(3, 2)), i32(0)),
			slices.Concat(drop(invokes(read, 0, 64, 8)), when(slices.Concat(load8(64), i32('a'), op(0x46)), drop(invokes(nap, 1000))),
				when(slices.Concat(load8(64), i32('d'), op(0x46)), drop(invokes(nap, 3000))), i32(0))
	})
	bubble(t, Options{}, wasm, func(t *testing.T, e *Engine, m *Module) {
		w, began := working(), time.Now()
		c := flowing(func(c *job.Config) { c.Concurrency = 3 })
		c.Worker = w
		out := e.Run(t.Context(), m, c)
		if took := time.Since(began); took != 3*time.Second || out.Verdict != job.OK {
			t.Errorf("%s after %s (%s)", out.Verdict, took, out.Error)
		}
		if w.all.forks != 2 || w.all.now != 1 || !w.held {
			t.Errorf("%d forks; of all workers, %d are held", w.all.forks, w.all.now)
		}
		if w.Release(); w.all.had != 4*workerGrace { // three sleeps, and the wait for two of them
			t.Errorf("they had their workers for %s", w.all.had)
		}
	})
}

// A run that waits for a worker after its sleep can still be ended.
func TestARunIsEndedWhileItWaitsForAWorker(t *testing.T) {
	t.Parallel()
	endless := func(b *builder, nap uint32) []byte {
		return slices.Concat(drop(invokes(nap, 1000)), op(0x03, 0x40, 0x0c, 0, opEnd), i32(0))
	}
	b := &builder{}
	simple := b.job(endless(b, b.abi(abi.FuncSleep)))
	flow := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		return slices.Concat(drop(add(0, 3)), drop(add(3, 2)), i32(0)), endless(b, b.abi(abi.FuncSleep))
	})
	for name, tt := range map[string]struct {
		wasm []byte
		c    job.Call
	}{
		"sleep": {simple, job.Call{}},
		"part":  {flow, flowing(func(c *job.Config) { c.Concurrency = 2 })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, Options{}, tt.wasm, func(t *testing.T, e *Engine, m *Module) {
				w, began := working(), time.Now()
				w.all.none = true
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				tt.c.Worker = w
				out := e.Run(ctx, m, tt.c)
				if took := time.Since(began); took != 5*time.Second || out.Verdict != job.Stopped {
					t.Errorf("%s after %s (%s)", out.Verdict, took, out.Error)
				}
			})
		})
	}
}

// A guest that should stop may call sleep a million times per second. The garbage of
// these calls would slow all others down.
func TestASleepThatDoesNotLastCostsNothing(t *testing.T) { // not parallel: it counts what the process allocates
	r := newRun(&job.Call{Worker: working(), Why: func() job.StopReason { return job.StopShutdown }}, &compilation{}, time.Now())
	r.ctx = t.Context()
	if n := testing.AllocsPerRun(100, func() { r.sleep(time.Hour) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
