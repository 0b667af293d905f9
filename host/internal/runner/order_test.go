package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A guest that was asked to stop while it waited does not begin, even if a place becomes
// free at the same moment.
func TestGuestThatWasAskedToStopDoesNotBegin(t *testing.T) {
	t.Parallel()
	waiting := func(places Slots, w *workers.Worker) *guest {
		return &guest{asked: make(chan struct{}), places: places, worker: w, grace: time.Second, end: func() {}}
	}
	synctest.Test(t, func(t *testing.T) {
		for range 100 { // select picks one of two ready cases at random
			places, pool := NewSlots(1), workers.New(1).Job()
			g := waiting(places, pool.Worker())
			g.askToStop(job.StopShutdown, reason.Reason{})
			if _, ok := g.awaitPlace(t.Context()); ok {
				t.Fatal("it begins")
			}
			if len(places) != 0 || !pool.Worker().AcquireFirst(t.Context(), nil) {
				t.Fatal("it keeps its place")
			}
			g.finish()
		}

		places, pool := NewSlots(1), workers.New(1).Job()
		places <- struct{}{}
		pool.Worker().AcquireFirst(t.Context(), nil)
		for _, g := range []*guest{waiting(places, nil), waiting(nil, pool.Worker())} {
			done := make(chan bool, 1)
			go func() {
				_, ok := g.awaitPlace(t.Context())
				done <- ok
			}()
			synctest.Wait()
			g.askToStop(job.StopShutdown, reason.Reason{})
			if <-done {
				t.Error("it begins without a place")
			}
			g.finish()
		}
	})
}

// Others see a member as long as one of its guests runs: its job session closes after the
// last guest, even if the member gave up waiting for it.
func TestSessionOutlivesItsGuests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		other, err := reg.Open(t.Context(), nil)
		must(t, err)
		nodes := layout.NewJob("test", testJob)
		there := func() bool {
			n, err := other.Read(t.Context(), nodes.Instance("10.0.0.1@-@1"))
			must(t, err)
			return n.Exists
		}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.DrainTimeout = time.Second
			o.Guests = guestFunc(func(context.Context, job.Call) job.Outcome {
				time.Sleep(time.Minute) // even if asked to stop
				return job.Outcome{Verdict: job.OK}
			})
		})
		time.Sleep(12 * time.Second)
		s.cancel()
		time.Sleep(30 * time.Second)
		if !there() {
			t.Error("others take the member for dead while its guests run")
		}
		time.Sleep(time.Minute)
		if there() {
			t.Error("the member is there for ever")
		}
		<-s.done
		if !errors.Is(s.err, ErrUnsafe) {
			t.Errorf("got %v, want ErrUnsafe", s.err)
		}
		must(t, errors.Join(other.Close(), reg.Close()))
	})
}

// slowDisk is a session whose service takes long to make writes durable.
type slowDisk struct {
	registry.Session
	synced chan struct{}
}

func (s slowDisk) Persist(ctx context.Context) error {
	select {
	case <-s.synced:
		return s.Session.Persist(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hung is a sink whose disk hangs until it is repaired, even if the context ends.
type hung struct {
	book
	mended chan struct{}
}

func (h *hung) Write(ctx context.Context, batch []trace.Row) error {
	<-h.mended
	return h.book.Write(ctx, batch)
}

// A hanging history keeps neither the next member from beginning nor the job from ending.
func TestHistoryThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &hung{mended: make(chan struct{})}
		s := serve(t, reg, nil, "10.0.0.1", func(o *Options) { o.Sink = rows })
		time.Sleep(15 * time.Second)
		must(t, s.kill())
		time.Sleep(time.Minute)
		if got := s.Status(); got.Instance == "" || s.opened() != 2 {
			t.Errorf("%d sessions, %+v; want that it has begun again", s.opened(), got)
		}
		asked := time.Now()
		s.now()
		<-s.done
		if took := time.Since(asked); !errors.Is(s.err, ErrUnsafe) || took > 20*time.Second {
			t.Errorf("it ended after %v: %v", took, s.err)
		}
		close(rows.mended)
		synctest.Wait()

		next := serve(t, reg, &rows.book, "10.0.0.1", nil)
		time.Sleep(time.Minute)
		next.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

func TestRowsWaitForTheDiskOfTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, synced := embedded.Memory(), &book{}, make(chan struct{})
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return slowDisk{s, synced} }}
		s := serveThrough(t, d, rows, "10.0.0.1", nil)
		time.Sleep(time.Minute)
		if got := rows.states(); len(got) != 0 {
			t.Errorf("rows %v of what the registry can still forget", got)
		}
		close(synced)
		synctest.Wait()
		if got := rows.states(); len(got) == 0 {
			t.Error("no rows")
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}
