package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// lines collects the lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// outcomes are the outcomes of the commits /c0, /c1 and so on.
type outcomes struct {
	acked   []int       // waited for, in order
	refused []int       // nothing was applied
	steps   map[int]int // number of steps done when the outcome was known
}

// check checks that found has the commits that were acknowledged up to a step, and none of
// those refused by then.
func (o *outcomes) check(found recovered, step int) error {
	for _, i := range o.acked {
		if o.steps[i] <= step && !found.tree.Get(fmt.Sprintf("/c%d", i)).Exists {
			return fmt.Errorf("/c%d is lost", i)
		}
	}
	for _, i := range o.refused {
		if o.steps[i] <= step && found.tree.Get(fmt.Sprintf("/c%d", i)).Exists {
			return fmt.Errorf("/c%d was refused and is there", i)
		}
	}
	if len(found.tree.Owners()) > 0 {
		return errors.New("a session outlived the process")
	}
	return nil
}

// Each step in turn fails, and some of those after it. A commit acknowledged before a kill or
// power loss is there afterwards, a refused one never is. In the end writes are accepted again
// and every outcome is settled.
func TestDiskThatFails_is_written_again_once_it_can_be(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			cuts, first := 0, 0
			for ; ; first++ {
				n := 0
				synctest.Test(t, func(t *testing.T) { n = failFrom(t, first, rand.New(rand.NewPCG(seed, uint64(first)))) })
				if n == 0 {
					break // no step was left to fail
				}
				cuts += n
			}
			if first < 40 || cuts < 1000 {
				t.Errorf("%d steps failed, %d cuts", first, cuts)
			}
		})
	}
}

// failFrom makes the step number first fail, and up to 20 of the following ones. It returns the
// number of steps that were checked; 0 if there are fewer than first.
func failFrom(t *testing.T, first int, rng *rand.Rand) int {
	d := newMemDisk()
	r, err := open(d, Options{SnapshotBytes: 400})
	if err != nil {
		t.Fatal(err)
	}
	s, owners := openSession(t, r), make([]registry.Session, 10)
	for i := range owners {
		owners[i] = openSession(t, r)
	}
	what, hit := failingDisk(t, d, owners, first, rng)
	o := &outcomes{steps: map[int]int{}}
	for i := range 12 {
		commitNumber(t, d, s, o, i)
		if i < len(owners) {
			_, _ = owners[i].Commit(t.Context(), registry.Op{Kind: registry.CreateEphemeral, Path: fmt.Sprintf("/e%d", i)})
		}
		<-time.After(mendPause / 3) // some commits come while it is broken, and some afterwards
		synctest.Wait()
	}
	d.inject(nil)
	<-time.After(mendPause)
	synctest.Wait()
	if err := errors.Join(r.Healthy(), s.Sync(t.Context())); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	commitNumber(t, d, s, o, 12)
	if n := len(o.acked); n == 0 || o.acked[n-1] != 12 {
		t.Fatalf("%s: the last commit was not taken", what)
	}
	for i := range 12 { // settled by Sync: a commit that is visible is durable
		if mustRead(t, s, fmt.Sprintf("/c%d", i)).Exists && !slices.Contains(o.acked, i) {
			o.acked, o.steps[i] = append(o.acked, i), len(d.done())
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !hit() {
		return 0
	}
	return cutEverywhere(t, d, o, first, what)
}

// failingDisk makes the step number first of d fail, and up to 20 of the following ones, and
// ends a session with each snapshot. what names the failing steps. If hit returns false, there
// were fewer steps.
func failingDisk(t *testing.T, d *memDisk, owners []registry.Session, first int, rng *rand.Rand) (what string, hit func() bool) {
	var mu sync.Mutex // guards the fields below and rng: loops and commits take steps
	done, failed, several := 0, 0, 1+rng.IntN(20)
	cause := []error{syscall.ENOSPC, syscall.EIO}[rng.IntN(2)]
	ended := 0
	fault := func(s step) (written int, err error) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if done == first+1 || done > first && failed < several && rng.IntN(2) == 0 {
			failed++
			return rng.IntN(len(s.data) + 1), cause
		}
		return len(s.data), nil
	}
	d.inject(func(s step) (int, error) {
		written, err := fault(s)
		if err == nil && s.kind == stepRename && ended < len(owners) { // its snapshot is taken; now a session ends
			ended++ // renames happen in one goroutine
			if err := owners[ended-1].Close(); err != nil {
				t.Error(err)
			}
		}
		return written, err
	})
	return fmt.Sprintf("from step %d, %v %d times at most", first, cause, several), func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed > 0
	}
}

func commitNumber(t *testing.T, d *memDisk, s registry.Session, o *outcomes, i int) {
	receipt, err := s.Commit(context.Background(), write(fmt.Sprintf("/c%d", i)))
	switch {
	case err == nil:
		d.ack(receipt.Revision, true)
		o.acked, o.steps[i] = append(o.acked, i), len(d.done())
	case errors.Is(err, registry.ErrUnknown):
	case errors.Is(err, registry.ErrReadOnly):
		o.refused, o.steps[i] = append(o.refused, i), len(d.done())
	default:
		t.Fatalf("commit %d: %v", i, err)
	}
}

// cutEverywhere repeats the steps of d. After each step from number first on, and within each
// write, it checks what a kill and a power loss would leave.
func cutEverywhere(t *testing.T, d *memDisk, o *outcomes, first int, what string) int {
	rng := rand.New(rand.NewPCG(7, 8))
	m := newImage()
	look := func(i int, m *image) {
		for _, left := range []*memDisk{m.afterKill(), m.afterPowerLoss(rng)} {
			found, err := recoverTree(left, quiet)
			if err == nil {
				err = o.check(found, i)
			}
			if err != nil {
				t.Fatalf("%s, cut at step %d, %s %s: %v", what, i, d.steps[min(i, len(d.steps)-1)].kind, d.steps[min(i, len(d.steps)-1)].name, err)
			}
		}
	}
	for i, s := range d.steps {
		if i >= first && s.kind == stepWrite && len(s.data) > 1 {
			part := m.clone()
			part.apply(s, len(s.data)/2)
			look(i, &part)
		}
		m.apply(s, len(s.data))
		if i >= first {
			look(i+1, &m)
		}
	}
	return len(d.steps) - first
}

func TestFullDisk_is_logged_each_minute_while_it_lasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, log := newMemDisk(), &lines{}
		r, err := open(d, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		s := openSession(t, r)
		for round := 1; round <= 2; round++ {
			d.inject(func(s step) (int, error) { return 0, syscall.ENOSPC })
			if _, err := s.Commit(t.Context(), write("/a")); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("commit on a full disk: %v", err)
			}
			time.Sleep(10*time.Minute + 30*time.Second)
			if n := log.count("cannot write; it keeps trying"); n != round {
				t.Errorf("told %d times that it began, want %d", n, round)
			}
			if n := log.count("still cannot write"); n < 9*round || n > 10*round {
				t.Errorf("logged %d times within ten minutes that it lasts", n)
			}
			if err := r.Healthy(); !errors.Is(err, registry.ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("healthy: %v", err)
			}
			d.inject(nil)
			time.Sleep(mendPause)
			synctest.Wait()
			if n := log.count("can write again"); n != round || r.Healthy() != nil {
				t.Errorf("logged %d times that it is over, healthy: %v", n, r.Healthy())
			}
		}
		mustCommit(t, s, write("/a"))
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A registry that closes while its disk is full keeps what was acknowledged.
func TestFullDisk_closes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk()
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := openSession(t, r)
		mustCommit(t, s, write("/kept"))
		d.inject(func(s step) (int, error) {
			if s.kind == stepWrite && !strings.HasPrefix(string(s.data), logMagic) { // the next log can be created, but nothing more
				return 1, syscall.ENOSPC
			}
			return len(s.data), nil
		})
		if _, err := s.Commit(t.Context(), write("/lost")); !errors.Is(err, registry.ErrReadOnly) {
			t.Errorf("commit: %v", err)
		}
		time.Sleep(2 * mendPause)
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		d.inject(nil)
		found, err := recoverTree(d, quiet)
		if err != nil || !found.tree.Get("/kept").Exists || found.tree.Get("/lost").Exists {
			t.Errorf("recovered: %v", err)
		}
	})
}

// A snapshot that is in place but may not be durable needs its log all the time, even during
// the next attempt.
func TestMend_keeps_the_log_of_a_snapshot_in_place(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, o := newMemDisk(), &outcomes{steps: map[int]int{}}
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := openSession(t, r)
		commitNumber(t, d, s, o, 0)
		var log, inPlace atomic.Bool
		d.inject(func(s step) (int, error) {
			switch {
			case s.kind == stepWrite && log.CompareAndSwap(false, true):
				return 0, syscall.EIO
			case s.kind == stepRename:
				inPlace.Store(true)
			case s.kind == stepSyncDir && inPlace.CompareAndSwap(true, false) && d.count(stepRename) == 2: // of the start, and the first one here
				return 0, syscall.EIO
			}
			return len(s.data), nil
		})
		commitNumber(t, d, s, o, 1)
		<-time.After(2 * mendPause)
		synctest.Wait()
		commitNumber(t, d, s, o, 2)
		if !slices.Equal(o.acked, []int{0, 2}) || !slices.Equal(o.refused, []int{1}) || d.count(stepRename) != 3 {
			t.Errorf("acknowledged %d, refused %d, %d renames", o.acked, o.refused, d.count(stepRename))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		cutEverywhere(t, d, o, 0, "a snapshot in place")
	})
}
