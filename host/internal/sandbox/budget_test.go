package sandbox

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

func newBudget(most uint64) *budget { return &budget{limit: most, evict: func() {}} }

// taking requests memory in the background. The channel receives the decision.
func taking(b *budget, r *run, need uint64) <-chan error {
	got := make(chan error, 1)
	go func() { got <- b.takeMemory(r, need) }()
	synctest.Wait()
	return got
}

func wantDecided(t *testing.T, got <-chan error, target error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-got:
		if !errors.Is(err, target) || (err == nil) != (target == nil) {
			t.Errorf("got %v, want %v", err, target)
		}
	default:
		t.Errorf("still waits; want %v", target)
	}
}

func wantWaiting(t *testing.T, got <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-got:
		t.Errorf("decided: %v", err)
	default:
	}
}

var someJobs atomic.Int64

// someRun returns a run of a new job.
func someRun(ctx context.Context) *run {
	return &run{ctx: ctx, job: strconv.FormatInt(someJobs.Add(1), 10)}
}

func TestBudgetWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBudget(10), t.Context()
		one, two, three := someRun(ctx), someRun(ctx), someRun(ctx)
		wantDecided(t, taking(b, one, 6), nil)
		second := taking(b, two, 6)
		wantWaiting(t, second)
		wantDecided(t, taking(b, three, 1), nil) // fits, and overtakes
		wantDecided(t, taking(b, one, 2), nil)
		b.returnMemory(8)
		b.endRun(one)
		wantDecided(t, second, nil)
		b.returnMemory(7)
		b.endRun(two)
		b.endRun(three)
		if b.used != 0 || b.active != 0 {
			t.Errorf("%d used, %d active", b.used, b.active)
		}
		if err := b.takeMemory(one, 11); err == nil || !strings.Contains(err.Error(), "needs 11 bytes") {
			t.Errorf("more than there is: %v", err)
		}
	})
}

func TestBudgetWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		one := someRun(t.Context())
		wantDecided(t, taking(b, one, 6), nil)

		ctx, cancel := context.WithCancel(t.Context())
		two, three := someRun(ctx), someRun(t.Context())
		three.deadline = time.Now().Add(time.Minute)
		second := taking(b, two, 9)
		third := taking(b, three, 5)
		cancel()
		wantDecided(t, second, context.Canceled)
		wantWaiting(t, third)
		time.Sleep(time.Minute)
		wantDecided(t, third, context.DeadlineExceeded)
		// Memory reserved for a claim that was cancelled is available to others.
		b = newBudget(10)
		wantDecided(t, taking(b, someRun(t.Context()), 6), nil)
		ctx, cancel = context.WithCancel(t.Context())
		fourth := taking(b, someRun(ctx), 9)
		time.Sleep(time.Second)
		fifth := taking(b, someRun(t.Context()), 4)
		wantWaiting(t, fifth)
		cancel()
		wantDecided(t, fourth, context.Canceled)
		wantDecided(t, fifth, nil)
	})
}

func TestBudgetBreaksCircles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBudget(10), t.Context()
		one, two := someRun(ctx), someRun(ctx)
		wantDecided(t, taking(b, one, 5), nil)
		wantDecided(t, taking(b, two, 5), nil)
		coming := taking(b, someRun(ctx), 1)
		first := taking(b, one, 3)
		wantWaiting(t, first)
		wantDecided(t, taking(b, two, 4), errDeadlock)
		wantWaiting(t, first) // two goes on and may end
		b.returnMemory(5)
		b.endRun(two)
		wantDecided(t, first, nil)
		wantDecided(t, coming, nil)
	})
}

// An instance may become idle after a run has evicted the idle ones and before the run
// waits. It must still be destroyed.
func TestBudgetFindsWhatCameToRestMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, has := range []uint64{0, 2} {
			b, r := newBudget(10), someRun(t.Context())
			if has > 0 {
				wantDecided(t, taking(b, r, has), nil)
			}
			wantDecided(t, taking(b, someRun(t.Context()), 8), nil)
			b.active-- // the other run ends, and its instance is about to become idle
			looked := 0
			b.evict = func() {
				if looked++; looked == 2 {
					b.returnMemory(8)
				}
			}
			wantDecided(t, taking(b, r, 5), nil)
		}
	})
}

// The engine's memory for an instance grows with the declarations of the module.
func TestBudgetKnowsWhatInstancesHold(t *testing.T) {
	t.Parallel()
	const n = 1000
	of := func(change func(*builder)) uint64 {
		b := &builder{}
		change(b)
		a, err := checked(b.job(i32(0)))
		if err != nil {
			t.Fatal(err)
		}
		return a.instanceBytes()
	}
	plain := of(func(*builder) {})
	for what, c := range map[string]struct {
		least  uint64 // bytes, as measured
		change func(*builder)
	}{
		"globals":          {88, func(b *builder) { b.globals = slices.Repeat([][]byte{{0x7f, 1, 0x41, 0, 0x0b}}, n) }},
		"elements":         {41, func(b *builder) { b.element = vector([][]byte{slices.Concat([]byte{1, 0}, uleb(n), make([]byte, n))}) }},
		"element segments": {24, func(b *builder) { b.element = vector(slices.Repeat([][]byte{{1, 0, 0}}, n)) }},
		"data segments":    {24, func(b *builder) { b.data = slices.Repeat([][]byte{{1, 0}}, n) }},
		"a table":          {8, func(b *builder) { b.table = slices.Concat([]byte{1, 0x70, 0}, uleb(n)) }},
	} {
		if got := of(c.change) - plain; got < n*c.least {
			t.Errorf("%d %s: %d bytes; want %d", n, what, got, n*c.least)
		}
	}
}

// While a run waits for its subtasks, they count as active in its place.
func TestBudgetKnowsParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBudget(10), t.Context()
		whole := someRun(ctx)
		wantDecided(t, taking(b, whole, 4), nil)
		var c subtasks
		b.startSubtasks(&c, 2)
		one, two := &run{ctx: ctx, active: true}, &run{ctx: ctx, active: true}
		wantDecided(t, taking(b, one, 4), nil)
		second := taking(b, two, 4)
		b.awaitSubtasks(&c)
		wantWaiting(t, second) // the first subtask is working
		b.returnMemory(4)
		b.endSubtask(&c)
		wantDecided(t, second, nil)
		wantDecided(t, taking(b, two, 9), errDeadlock) // no other run is active
		b.returnMemory(4)
		b.endSubtask(&c)
		if b.active != 1 {
			t.Errorf("%d active, want the run itself", b.active)
		}
		b.returnMemory(4)
		b.endRun(whole)
		if b.used != 0 || b.active != 0 {
			t.Errorf("%d used, %d active", b.used, b.active)
		}
	})
}

// growing grows page by page, and returns the reached size plus 200.
func growing(pages int64) []byte {
	return (&builder{}).job(
		drop(append(i32(pages), op(0x40, 0)...)),
		plus(op(0x3f, 0), i32(200)))
}

func TestBudgetOfTheEngine(t *testing.T) {
	t.Parallel()
	const most = 8*pageSize + 2*instanceCost + stackSize
	e, err := New(Options{Budget: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if e.budget.used != 0 || e.budget.active != 0 {
			t.Errorf("%d used, %d active", e.budget.used, e.budget.active)
		}
	})
	// First within the budget, then beyond it, which the guest survives.
	if out := e.Run(t.Context(), load(t, e, growing(6)), job.Call{}); out.Code != 207 {
		t.Errorf("code %d (%s)", out.Code, out.Error)
	}
	if out := e.Run(t.Context(), load(t, e, growing(30)), job.Call{}); out.Code != 201 || out.PeakBytes != pageSize {
		t.Errorf("code %d, peak %d", out.Code, out.PeakBytes)
	}
	expect(t, e.Run(t.Context(), load(t, e, (&builder{}).pages(9).job(i32(0))), job.Call{}), job.Failure, "needs 1671168 bytes of memory, all guests together may have 1638400")
	trap := (&builder{}).job(drop(append(i32(30), op(0x40, 0)...)), op(opUnreachable))
	expect(t, e.Run(t.Context(), load(t, e, trap), job.Call{}), job.Failure, "more memory was refused: the guest needs 1966080 bytes")

	// Instances in a pool are evicted.
	wantCodes(t, e, load(t, e, growing(5)), pooledCall(1), 206)
	if e.resting() != 1 {
		t.Error("nothing rests")
	}
	wantCodes(t, e, load(t, e, growing(6)), job.Call{}, 207)
	if e.resting() != 0 {
		t.Error("it rests still")
	}
}

// A run that finds no memory waits until another returns some, or until its deadline.
func TestRunWaitsForMemory(t *testing.T) {
	t.Parallel()
	e, err := New(Options{Budget: 3*pageSize + stackSize})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	m := load(t, e, asker(2))
	running, end := make(chan struct{}), make(chan struct{})
	first := make(chan job.Outcome)
	go func() {
		first <- e.Run(t.Context(), m, job.Call{Why: func() job.StopReason { close(running); <-end; return job.StopShutdown }})
	}()
	<-running
	out := e.Run(t.Context(), m, job.Call{Config: job.Config{Timeout: time.Millisecond}})
	expect(t, out, job.Deadline, "wait for 1212416 bytes of memory")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect(t, e.Run(ctx, m, job.Call{}), job.Stopped, "cancelled")
	close(end)
	expect(t, <-first, job.Failure, "code 202")
	expect(t, e.Run(t.Context(), m, job.Call{Why: func() job.StopReason { return job.StopShutdown }}), job.Failure, "code 202")
}

// Subtasks of a batch wait for each other's memory. Without memory for a second one that
// wait would never end.
func TestPartsWaitForMemory(t *testing.T) {
	t.Parallel()
	wasm := pipe(func(_ *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		return slices.Concat(drop(add(0, 3)), drop(add(0, 3)), drop(add(0, 3)), i32(0)), i32(0)
	})
	c := flowing(func(c *job.Config) { c.Concurrency = 3 })
	const one = pageSize + instanceCost + stackSize + bytesSegment // it has some data
	for _, tt := range []struct {
		budget  int64
		verdict job.Verdict
		text    string
		flow    job.Flow
	}{
		{3*one + batchStep, job.OK, "", job.Flow{Batches: 1, Succeeded: 3}},
		{one + batchStep, job.Failure, "all guests wait for memory", job.Flow{Batches: 1, Succeeded: 1, Failed: 2}},
	} {
		e, err := New(Options{Budget: tt.budget})
		if err != nil {
			t.Fatal(err)
		}
		out := e.Run(t.Context(), load(t, e, wasm), c)
		expect(t, out, tt.verdict, tt.text)
		if out.Flow != tt.flow {
			t.Errorf("%+v", out.Flow)
		}
		if e.budget.used != 0 || e.budget.active != 0 {
			t.Errorf("%d used, %d active", e.budget.used, e.budget.active)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
