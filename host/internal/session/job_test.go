package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// The nodes that a job session created go when it is closed, and no others.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, _ := w.openJob("a")
		b, _ := w.openJob("b")
		w.commit(a, create(jobA), ephemeral(jobA+"/mine"), ephemeral(jobA+"/mine2"))
		w.commit(a, ephemeral(jobA+"/stolen"), ephemeral(jobA+"/removed"), create(jobA+"/kept"))
		w.commit(a, remove(jobA+"/removed"), registry.Op{Kind: registry.Set, Path: jobA + "/mine", Version: registry.AnyVersion})
		w.commit(b, create(jobB), ephemeral(jobB+"/mine"))
		w.commit(w.other, remove(jobA+"/stolen"))
		w.commit(w.other, ephemeral(jobA+"/stolen"))
		w.read(w.other, jobA)
		before := w.read(w.other, jobA).Stat.ChildVersion
		w.closeJob(a)
		n := w.read(w.other, jobA)
		if got := fmt.Sprint(n.Children); got != "[kept stolen]" || n.Stat.ChildVersion != before+2 {
			t.Errorf("left: %s", got)
		}
		if !w.read(b, jobB+"/mine").Exists {
			t.Error("the other job lost its node")
		}
		for name, err := range map[string]error{
			"commit": second(a.Commit(t.Context(), create(jobA+"/late"))), "sync": a.Sync(t.Context()),
			"read": second(a.Read(t.Context(), jobA)), "time": second(a.Time(t.Context())), "persist": a.Persist(t.Context()),
		} {
			if !errors.Is(err, registry.ErrEnded) {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
		next, _ := w.openJob("a")
		if next.ID() != b.ID() {
			t.Error("the session did not go on")
		}
		w.closeJob(next)
		w.closeJob(b)
		w.stop()
	})
}

func second[T any](_ T, err error) error { return err }

// The last transaction got no answer and would be applied later. After Close it is not.
func TestCloseSettlesWhatHadNoAnswer(t *testing.T) {
	t.Parallel()
	for _, outcome := range []registrytest.Outcome{registrytest.Delay, registrytest.LoseReply, registrytest.LoseRequest} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, settings{plan: func(_ int, ops []registry.Op) registrytest.Outcome {
				if len(ops) == 2 {
					return outcome
				}
				return registrytest.Pass
			}})
			a, _ := w.openJob("a")
			w.commit(a, create(jobA))
			if _, err := a.Commit(t.Context(), create(jobA+"/p"), ephemeral(jobA+"/e")); !errors.Is(err, registry.ErrUnknown) {
				t.Errorf("commit: %v", err)
			}
			w.closeJob(a)
			next, _ := w.openJob("a")
			if err := next.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			if w.read(next, jobA+"/e").Exists {
				t.Errorf("outcome %d: the node of an earlier life is there", outcome)
			}
			w.closeJob(next)
			w.stop()
		})
	}
}

// The same holds for a transaction that creates no ephemeral node.
func TestCloseSettlesACommitWithoutMarks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{plan: func(_ int, ops []registry.Op) registrytest.Outcome {
			if ops[0].Path == jobA+"/late" {
				return registrytest.Delay
			}
			return registrytest.Pass
		}})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA))
		if _, err := a.Commit(t.Context(), create(jobA+"/late")); !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("commit: %v", err)
		}
		w.closeJob(a)
		if !w.read(w.other, jobA+"/late").Exists {
			t.Error("it can be carried out when the job session is closed")
		}
		w.stop()
	})
}

// Close deletes the nodes in one transaction if the service takes it; else in
// several, the newest nodes first.
func TestCloseInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{embedded: embedded.Options{MaxCommit: 1000}})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA))
		for i := range 100 {
			w.commit(a, ephemeral(fmt.Sprintf("%s/e%02d", jobA, i)))
		}
		w.closeJob(a)
		n := w.read(w.other, jobA)
		if len(n.Children) != 0 {
			t.Errorf("left: %v", n.Children)
		}
		w.stop()
	})
}

func TestCloseIsDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var denied atomic.Bool
		w := newWorld(t, settings{plan: func(int, []registry.Op) registrytest.Outcome {
			if denied.Load() {
				return registrytest.Deny
			}
			return registrytest.Pass
		}})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA), ephemeral(jobA+"/e"))
		denied.Store(true)
		if err := a.Close(t.Context()); !errors.Is(err, registry.ErrDenied) {
			t.Errorf("close: %v", err)
		}
		denied.Store(false)
		w.closeJob(a)
		if w.read(w.other, jobA+"/e").Exists {
			t.Error("the node is still there")
		}
		w.stop()
	})
}

// The job ends here while its nodes cannot be deleted: the server keeps trying, and
// no job session of that root opens before it has succeeded.
func TestAbandon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var denied atomic.Bool
		w := newWorld(t, settings{plan: func(int, []registry.Op) registrytest.Outcome {
			if denied.Load() {
				return registrytest.Deny
			}
			return registrytest.Pass
		}})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA), ephemeral(jobA+"/e"))
		denied.Store(true)
		if err := a.Close(t.Context()); !errors.Is(err, registry.ErrDenied) {
			t.Errorf("close: %v", err)
		}
		a.Abandon()
		ctx, cancel := contextFor(t, time.Minute)
		defer cancel()
		if _, err := w.Open(ctx, jobA, &recorder{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a job session beside nodes of the one before: %v", err)
		}
		denied.Store(false)
		a, _ = w.openJob("a")
		if w.read(w.other, jobA+"/e").Exists {
			t.Error("the node is still there")
		}
		w.commit(a, ephemeral(jobA+"/f"))
		denied.Store(true)
		if a.Close(t.Context()) == nil {
			t.Error("closed")
		}
		a.Abandon()
		w.stop() // the end of the session does it
	})
}

// An operator who removed the job removed the namespace, too.
func TestNamespaceIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, _ := w.openJob("a")
		w.closeJob(a)
		w.commit(w.other, remove(testNamespace))
		a, _ = w.openJob("a")
		w.commit(a, create(jobA))
		w.closeJob(a)
		w.stop()
	})
}

// Many jobs send requests at once. As many are in flight as the service handles quickly,
// and each is answered.
func TestRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA))
		back := w.faulty.Silence()
		const many = 10 * maxInFlight
		answers := make(chan error, many+1)
		for range many {
			a.Fetch(t.Context(), jobA, func(_ registry.Node, err error) { answers <- err })
		}
		a.Submit(t.Context(), []registry.Op{create(jobA + "/x")}, func(_ registry.Receipt, err error) { answers <- err })
		synctest.Wait()
		if w.pool.busy != maxInFlight {
			t.Errorf("%d requests under way, want %d", w.pool.busy, maxInFlight)
		}
		back()
		for range many + 1 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if w.pool.busy != 0 {
			t.Errorf("%d goroutines wait for nothing", w.pool.busy)
		}
		w.closeJob(a)
		w.stop()
	})
}

func TestWritesGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pool
		release := make(chan struct{})
		for range maxInFlight {
			p.read(func() { <-release })
		}
		synctest.Wait() // each has a goroutine of its own
		var order []string
		note := func(what string) func() { return func() { order = append(order, what) } }
		p.read(note("r1"))
		p.write(note("w1"))
		p.read(note("r2"))
		p.write(note("w2"))
		release <- struct{}{} // one of them passes, past the waiting ones
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[w1 w2 r1 r2]" {
			t.Errorf("order %s", got)
		}
		close(release)
		p.workers.Wait()
	})
}

// Close waits for requests in flight, which end with their context.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, _ := w.openJob("a")
		w.commit(a, create(jobA))
		back := w.faulty.Silence()
		ctx, cancel := contextFor(t, time.Minute)
		defer cancel()
		ended := make(chan error, 1)
		a.Submit(ctx, []registry.Op{ephemeral(jobA + "/e")}, func(_ registry.Receipt, err error) { ended <- err })
		closed := make(chan error, 1)
		go func() { closed <- a.Close(t.Context()) }()
		time.Sleep(59 * time.Second)
		select {
		case err := <-closed:
			t.Errorf("closed before the request had ended: %v", err)
		default:
		}
		if err := <-ended; !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("the request: %v", err)
		}
		time.Sleep(time.Minute)
		back()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		w.stop()
	})
}
