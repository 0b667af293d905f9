package session

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

const (
	jobA = testNamespace + "/a"
	jobB = testNamespace + "/b"
)

func TestEventsGoToTheirJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, recorderA := w.openJob("a")
		b, recorderB := w.openJob("b")
		if a.ID() != b.ID() || a.ID() == 0 {
			t.Errorf("sessions %d and %d, want one", a.ID(), b.ID())
		}
		w.commit(w.other, create(jobA), create(jobB), create(jobB+"/deep"), create(testNamespace+"/c"))
		synctest.Wait()
		if got := recorderA.all(); got != "changed "+jobA {
			t.Errorf("a received %q", got)
		}
		if got := recorderB.all(); got != "changed "+jobB+", changed "+jobB+"/deep, list "+jobB {
			t.Errorf("b received %q", got)
		}
		w.closeJob(a)
		w.commit(w.other, remove(jobA))
		synctest.Wait()
		if got := recorderA.all(); got != "" {
			t.Errorf("a received %q after its end", got)
		}
		w.closeJob(b)
		w.stop()
	})
}

func TestRootOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, path, want string }{
		{"/ns", "/ns/a", "/ns/a"},
		{"/ns", "/ns/a/b/c", "/ns/a"},
		{"/ns/deep", "/ns/deep/a/b", "/ns/deep/a"},
		{"/ns", "/ns", "/ns"},
		{"/ns", "/", "/"},
		{"", "/a/b", "/a"},
		{"", "/a", "/a"},
	} {
		var namespace []string
		if c.namespace != "" {
			namespace = []string{c.namespace}
		}
		if got := New(Options{Namespace: namespace}).rootOf(c.path); got != c.want {
			t.Errorf("%s below %q: %s, want %s", c.path, c.namespace, got, c.want)
		}
	}
}

func TestServiceThatComesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{since: time.Hour})
		time.Sleep(time.Minute)
		if got := w.Troubles(); len(got) != 1 || got[0].Code != reason.SessionUnopened || !strings.Contains(got[0].Params()["error"], registrytest.ErrUnreachable.Error()) {
			t.Errorf("troubles %q, want one that says why", got)
		}
		begun := time.Now()
		l, _ := w.openJob("a") // it waits
		if waited := time.Since(begun); waited < 59*time.Minute || waited > 60*time.Minute {
			t.Errorf("waited for %v", waited)
		}
		if got := w.Troubles(); len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		if n := w.read(w.other, testNamespace); !n.Exists {
			t.Error("the namespace is not there")
		}
		w.closeJob(l)
		w.stop()
		if got := w.log.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "level=ERROR") != 1 {
			t.Errorf("the log, want a line when it was away and one when it was there:\n%s", got)
		}
	})
}

func TestOpenIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{since: time.Hour})
		ctx, cancel := contextFor(t, time.Second)
		defer cancel()
		if _, err := w.Open(ctx, jobA, &recorder{}); err == nil {
			t.Error("a job session without a session")
		}
		w.stop()
	})
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, recorderA := w.openJob("a")
		b, recorderB := w.openJob("b")
		w.commit(a, create(jobA), ephemeral(jobA+"/e"))
		if err := w.faulty.EndSessions(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !strings.HasSuffix(recorderA.all(), "ended") || recorderB.all() != "ended" {
			t.Error("a job did not receive the end of the session")
		}
		if got := w.Troubles(); !slices.Equal(got, []reason.Reason{reason.Of(reason.SessionEnded)}) {
			t.Errorf("troubles %q, want %s", got, reason.SessionEnded)
		}
		if w.read(w.other, jobA+"/e").Exists {
			t.Error("the ephemeral node outlived its session")
		}
		w.closeJob(a) // without any request
		w.closeJob(b)
		next, _ := w.openJob("a")
		if next.ID() == a.ID() || len(w.Troubles()) != 0 {
			t.Errorf("session %d after %d, troubles %q", next.ID(), a.ID(), w.Troubles())
		}
		if _, err := a.Read(t.Context(), jobA); err == nil {
			t.Error("a request of a job session that has ended")
		}
		w.closeJob(next)
		w.stop()
	})
}

func TestSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, recorderA := w.openJob("a")
		w.faulty.Suspend()
		b, recorderB := w.openJob("b") // in the middle of it
		if got := w.Troubles(); !slices.Equal(got, []reason.Reason{reason.Of(reason.ConnectionLost)}) {
			t.Errorf("troubles %q, want %s", got, reason.ConnectionLost)
		}
		w.faulty.Resume()
		for name, got := range map[string]string{"a": recorderA.all(), "b": recorderB.all()} {
			if got != "suspended, resumed" {
				t.Errorf("%s received %q", name, got)
			}
		}
		if got := w.Troubles(); len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		w.closeJob(a)
		w.closeJob(b)
		w.stop()
	})
}

// A listener on the list of jobs does not count as a job.
func TestLossCountsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{})
		a, _ := w.openJob("a")
		list, _ := openOn(t, w.Server, testNamespace)
		w.faulty.Suspend()
		synctest.Wait()
		if !strings.Contains(w.log.String(), "lost the connection to the registry\" reason_code=connection_lost jobs=1\n") {
			t.Errorf("the log does not tell of one job:\n%s", w.log)
		}
		w.faulty.Resume()
		w.closeJob(list)
		w.closeJob(a)
		w.stop()
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings{granted: 30 * time.Second})
		a, recorder := w.openJob("a")
		time.Sleep(time.Hour)
		begun := time.Now()
		back := w.faulty.Silence()
		for _, c := range []struct {
			at     time.Duration
			health Health
			want   string
		}{
			{14 * time.Second, Trusted, ""},
			{16 * time.Second, Doubtful, "health 1"},
			{22 * time.Second, Doubtful, ""},
			{23 * time.Second, Lost, "health 2"},
			{time.Hour, Lost, ""},
		} {
			time.Sleep(time.Until(begun.Add(c.at)))
			if got, want := a.Health(), recorder.all(); got != c.health || want != c.want {
				t.Errorf("after %v: health %d, and the job received %q; want %d, %q", c.at, got, want, c.health, c.want)
			}
		}
		if got := w.Troubles(); !slices.Equal(got, []reason.Reason{reason.Of(reason.SilentTooLong)}) {
			t.Errorf("troubles %q, want %s", got, reason.SilentTooLong)
		}
		back()
		if a.Health() != Trusted {
			t.Error("doubtful although it answers")
		}
		time.Sleep(2 * time.Second)
		if got := recorder.all(); got != "health 0" || len(w.Troubles()) != 0 {
			t.Errorf("it received %q, troubles %q", got, w.Troubles())
		}
		w.closeJob(a)
		w.stop()
		if got := w.log.String(); strings.Count(got, "\n") != 3 {
			t.Errorf("the log, want a line for each change:\n%s", got)
		}
	})
}

// acknowledging is a session whose acknowledgements the test sets.
type acknowledging struct {
	registry.Session
	at time.Time
}

func (v *acknowledging) Timeout() time.Duration  { return 20 * time.Second }
func (v *acknowledging) Acknowledged() time.Time { return v.at }

// slow is a registry whose service creates sessions at once and answers long after.
type slow struct{ registry.Registry }

func (r slow) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	made := time.Now()
	Sleep(context.WithoutCancel(ctx), 19*time.Second)
	return &acknowledging{s, made.Add(-time.Second)}, err
}

// The service counts the time-out from when it created the session, which the
// server does not know.
func TestHealthCountsFromTheRequestForTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := embedded.Memory()
		server := New(Options{Registry: slow{inner}})
		stop := startServer(t, server)
		j, _ := openOn(t, server, "/a")
		if got := j.Health(); got != Lost {
			t.Errorf("health %d, 19 of 20 s after the session was made", got)
		}
		closeJob(t, j)
		stop()
	})
}

// Go's clock stands still while the machine is suspended; the service's clock does
// not.
func TestHealthCountsTheSleepOfTheMachine(t *testing.T) {
	t.Parallel()
	start := moment{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour}
	now := start
	s := &acknowledging{at: start.at}
	j := newMonitor(s, func() moment { return now }, start)
	for _, c := range []struct {
		name    string
		passes  time.Duration
		sleeps  time.Duration
		answers bool // a request sent at the end of passes is acknowledged
		want    Health
	}{
		{"a moment later", time.Second, 0, false, Trusted},
		{"it slept", time.Second, 12 * time.Second, false, Doubtful},
		{"it answers, but may have done so before", 0, 16 * time.Second, true, Lost},
		{"it answers again", time.Second, 0, true, Trusted},
		{"reading two clocks", time.Second, 900 * time.Millisecond, false, Trusted},
		{"it answers", 8 * time.Second, 0, true, Trusted},
		{"time passes", 9 * time.Second, 0, false, Trusted},
		{"more", time.Second, 0, false, Doubtful},
		{"more still", 5 * time.Second, 0, false, Lost},
	} {
		now.at = now.at.Add(c.passes)
		now.slept += c.sleeps
		if c.answers {
			s.at = now.at
		}
		if got, silent, _ := j.health(); got != c.want {
			t.Errorf("%s: health %d after %v, want %d", c.name, got, silent, c.want)
		}
		if left, bounded := j.left(); !bounded || (left > 0) != (c.want != Lost) {
			t.Errorf("%s: health %d, and %v is left, bounded: %v", c.name, c.want, left, bounded)
		}
	}
}

// stumbling is a registry whose sessions emit Suspended when they are closed, as
// those of ZooKeeper do, and whose first session cannot follow.
type stumbling struct {
	registry.Registry
	opened int
}

type stumblingSession struct {
	registry.Session
	on    func(registry.Event)
	first bool
}

func (r *stumbling) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	r.opened++
	return &stumblingSession{s, on, r.opened == 1}, err
}

func (s *stumblingSession) Follow(ctx context.Context, root string) error {
	if s.first {
		return registrytest.ErrUnreachable
	}
	return s.Session.Follow(ctx, root)
}

func (s *stumblingSession) Close() error {
	s.on(registry.Event{Kind: registry.Suspended})
	return s.Session.Close()
}

// The troubles of a session that could not be used are gone with it.
func TestTroublesOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := embedded.Memory()
		server := New(Options{Registry: &stumbling{Registry: inner}, Namespace: []string{"/ns"}})
		stop := startServer(t, server)
		j, _ := openOn(t, server, "/ns/a")
		if got := server.Troubles(); len(got) != 0 {
			t.Errorf("troubles %q of a good session", got)
		}
		closeJob(t, j)
		stop()
	})
}

// Timers stand still with Go's clock. A server that wakes without a registry must
// not wait for the rest of a timer before its guests are asked to stop, and are
// ended.
func TestDoubtIsReportedSoonAfterASleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		w := newWorld(t, settings{granted: 30 * time.Second, slept: func() time.Duration { return time.Duration(slept.Load()) }})
		a, recorder := w.openJob("a")
		time.Sleep(time.Hour)
		back := w.faulty.Silence()
		slept.Store(int64(15 * time.Second)) // the last acknowledgement may be some seconds older
		time.Sleep(1600 * time.Millisecond)
		if got := recorder.all(); got != "health 1" {
			t.Errorf("after 15 s of sleep, and a moment, the job received %q", got)
		}
		time.Sleep(6 * time.Second)
		if got := recorder.all(); got != "health 2" {
			t.Errorf("when three quarters of the time-out have passed, it received %q", got)
		}
		back()
		time.Sleep(2 * time.Second)
		if got := recorder.all(); !strings.HasSuffix(got, "health 0") { // it is also reminded to look at the clock
			t.Errorf("when the registry answers, it received %q", got)
		}
		w.closeJob(a)
		w.stop()
	})
}
