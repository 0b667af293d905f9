package session

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// reader is a listener with a loop whose turns the test controls.
type reader struct {
	recorder
	mu    sync.Mutex // guards the fields below
	turn  uint64
	waits bool
	cut   func()
}

func (r *reader) Turns() (n uint64, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn, r.waits
}

func (r *reader) Cut(done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = done
}

// set begins a turn, and sets whether events wait for the next one.
func (r *reader) set(waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	r.waits = waits
}

func (r *reader) isCut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut != nil
}

// The job session of a stuck loop ends at once for the job, and for other members
// when no run of the job is left. Other jobs go on.
func TestStuckLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{granted: 20 * time.Second})
		b, recorderB := w.openJob("b")
		r := &reader{}
		a, err := w.Open(t.Context(), jobA, r)
		if err != nil {
			t.Fatal(err)
		}
		r.job = a
		w.commit(a, create(jobA), ephemeral(jobA+"/e"))
		time.Sleep(time.Hour) // nothing waits
		for range 100 {
			r.set(true) // it is slow, but it goes on
			time.Sleep(9 * time.Second)
		}
		r.set(false)
		time.Sleep(time.Hour)
		if r.isCut() {
			t.Fatal("a loop that goes on is given up")
		}
		r.set(true)
		begun := time.Now()
		for !r.isCut() {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("given up after %v", took)
		}
		if got := r.all(); !strings.HasSuffix(got, "ended") {
			t.Errorf("it received %q", got)
		}
		if _, err := a.Commit(t.Context(), create(jobA+"/late")); !errors.Is(err, registry.ErrEnded) {
			t.Errorf("a commit of a job session that is over: %v", err)
		}
		w.commit(w.other, create(jobA+"/other"))
		time.Sleep(time.Minute)
		if got := r.all(); got != "" {
			t.Errorf("it received %q after the end", got)
		}
		if !w.read(w.other, jobA+"/e").Exists {
			t.Error("others may have the items of a job that still runs")
		}
		r.cut()
		synctest.Wait()
		if w.read(w.other, jobA+"/e").Exists {
			t.Error("the items of a job that has ended are kept from others")
		}
		w.commit(b, create(jobB))
		synctest.Wait()
		if got := recorderB.all(); got != "changed "+jobB {
			t.Errorf("the other job received %q", got)
		}
		next, _ := w.openJob("a")
		for _, l := range []*Job{a, next, b} {
			w.closeJob(l)
		}
		w.stop()
		if !strings.Contains(w.log.String(), "the loop of a job is stuck") {
			t.Errorf("the log does not say so:\n%s", w.log)
		}
	})
}
