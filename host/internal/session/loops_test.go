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

// reader is a job with a loop, which the test turns.
type reader struct {
	ears
	mu    sync.Mutex // guards what follows
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

// set lets the loop turn, and says whether something waits for the next one.
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

// The line of a loop that stands still is over at once for the job, and for
// others when nothing of the job runs any more. Others go on.
func TestLoopThatStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{granted: 20 * time.Second})
		b, hearsB := w.open("b")
		r := &reader{}
		a, err := w.Open(t.Context(), jobA, r)
		if err != nil {
			t.Fatal(err)
		}
		r.line = a
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
			t.Errorf("it hears %q", got)
		}
		if _, err := a.Commit(t.Context(), create(jobA+"/late")); !errors.Is(err, registry.ErrEnded) {
			t.Errorf("a commit of a line that is over: %v", err)
		}
		w.commit(w.other, create(jobA+"/other"))
		time.Sleep(time.Minute)
		if got := r.all(); got != "" {
			t.Errorf("it hears %q after the end", got)
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
		if got := hearsB.all(); got != "changed "+jobB {
			t.Errorf("the other job hears %q", got)
		}
		next, _ := w.open("a")
		for _, l := range []*Line{a, next, b} {
			w.close(l)
		}
		w.stop()
		if !strings.Contains(w.log.String(), "the loop of a job stands still") {
			t.Errorf("the log does not tell:\n%s", w.log)
		}
	})
}
