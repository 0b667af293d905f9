package registrytest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// Without faults it behaves like the registry that it wraps.
func TestConformance_faulty(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registry.Registry {
		return registrytest.NewFaulty(embedded.Memory(), nil)
	})
}

// events collects the events of a session.
type events struct {
	mu    sync.Mutex // guards all fields
	all   []registry.Event
	ended chan struct{}
}

func (e *events) receive(event registry.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
	if event.Kind == registry.Ended {
		close(e.ended)
	}
}

func (e *events) received() []registry.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// pair returns a session of a faulty registry and a session of the registry that it wraps.
func pair(t *testing.T, plan registrytest.Plan) (*registrytest.Faulty, registry.Session, registry.Session, *events) {
	t.Helper()
	inner := embedded.Memory()
	f := registrytest.NewFaulty(inner, plan)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	received := &events{ended: make(chan struct{})}
	faulty, err := f.Open(t.Context(), received.receive)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := inner.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f, faulty, sound, received
}

func exists(t *testing.T, s registry.Session, path string) bool {
	t.Helper()
	n, err := s.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return n.Exists
}

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		outcome       registrytest.Outcome
		err           error
		applied       bool
		afterSync     bool
		ended         bool
		conflictShows bool
	}{
		{"pass", registrytest.Pass, nil, true, true, false, true},
		{"lose the request", registrytest.LoseRequest, registry.ErrUnknown, false, false, false, false},
		{"lose the reply", registrytest.LoseReply, registry.ErrUnknown, true, true, false, false},
		{"delay", registrytest.Delay, registry.ErrUnknown, false, true, false, false},
		{"deny", registrytest.Deny, registry.ErrDenied, false, false, false, false},
		{"end before", registrytest.EndBefore, registry.ErrEnded, false, false, true, false},
		{"end after", registrytest.EndAfter, registry.ErrUnknown, true, true, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, faulty, sound, received := pair(t, func(n int, ops []registry.Op) registrytest.Outcome {
				if n == 0 || ops[0].Path == "/conflict/none" {
					return test.outcome
				}
				return registrytest.Pass
			})
			_, err := faulty.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/a"})
			if !errors.Is(err, test.err) {
				t.Errorf("commit: %v", err)
			}
			if exists(t, sound, "/a") != test.applied {
				t.Errorf("applied: %v", !test.applied)
			}
			if test.ended {
				<-received.ended
				if _, err := faulty.Read(t.Context(), "/a"); !errors.Is(err, registry.ErrEnded) {
					t.Errorf("read: %v", err)
				}
				return
			}
			if err := faulty.Sync(t.Context()); err != nil {
				t.Errorf("sync: %v", err)
			}
			if exists(t, faulty, "/a") != test.afterSync {
				t.Errorf("applied after sync: %v", !test.afterSync)
			}
			_, err = faulty.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/conflict/none"})
			if errors.Is(err, registry.ErrConflict) != test.conflictShows {
				t.Errorf("conflict: %v", err)
			}
			if err := faulty.Sync(t.Context()); err != nil {
				t.Errorf("sync: %v", err)
			}
		})
	}
}

func TestSuspend_hides_everything_until_resume(t *testing.T) {
	t.Parallel()
	f, faulty, sound, received := pair(t, nil)
	if _, err := faulty.Commit(t.Context(), registry.Op{Kind: registry.CreateEphemeral, Path: "/e"}); err != nil {
		t.Fatal(err)
	}
	if err := faulty.Follow(t.Context(), "/a"); err != nil {
		t.Fatal(err)
	}
	f.Suspend()
	f.Suspend()
	_, readErr := faulty.Read(t.Context(), "/a")
	_, commitErr := faulty.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/lost"})
	_, timeErr := faulty.Time(t.Context())
	for _, err := range []error{readErr, commitErr, timeErr, faulty.Sync(t.Context())} {
		if !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("cut off: %v", err)
		}
	}
	if _, err := sound.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/a"}); err != nil {
		t.Fatal(err)
	}
	if !exists(t, sound, "/e") || exists(t, sound, "/lost") {
		t.Error("the session ended or its commit went through")
	}
	f.Resume()
	n, err := faulty.Read(t.Context(), "/a")
	if err != nil || !n.Exists {
		t.Errorf("read: %v %v", n, err)
	}
	if err := f.EndSessions(); err != nil {
		t.Error(err)
	}
	<-received.ended
	var kinds []registry.EventKind
	for _, e := range received.received() {
		if e.Kind != registry.Changed { // one may come late
			kinds = append(kinds, e.Kind)
		}
	}
	if want := []registry.EventKind{registry.Suspended, registry.Resumed, registry.Ended}; !slices.Equal(kinds, want) {
		t.Errorf("events %v", received.received())
	}
	if exists(t, sound, "/e") {
		t.Error("the ephemeral node outlived its session")
	}
}

func TestSilence_holds_requests_back(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, sound, _ := pair(t, nil)
		f.Grant(10 * time.Second)
		faulty, err := f.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := faulty.Timeout(); got != 10*time.Second || time.Since(faulty.Acknowledged()) != 0 {
			t.Errorf("time-out %v, acknowledged at %v", got, faulty.Acknowledged())
		}
		back := f.Silence()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := faulty.Commit(short, registry.Op{Kind: registry.Create, Path: "/late"}); !errors.Is(err, registry.ErrUnknown) {
			t.Errorf("commit: %v", err)
		}
		done := make(chan error)
		go func() {
			_, err := faulty.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/a"})
			done <- err
		}()
		time.Sleep(4 * time.Second)
		if silent := time.Since(faulty.Acknowledged()); silent != 5*time.Second || exists(t, sound, "/a") {
			t.Errorf("silent for %v", silent)
		}
		back()
		if err := <-done; err != nil || !exists(t, sound, "/a") || exists(t, sound, "/late") {
			t.Errorf("after the silence: %v", err)
		}
		if silent := time.Since(faulty.Acknowledged()); silent != 0 {
			t.Errorf("still silent for %v", silent)
		}
	})
}

func TestDepose_answers_reads_alone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, sound, _ := pair(t, nil)
		f.Grant(10 * time.Second)
		faulty, err := f.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		back := f.Depose()
		done := make(chan error)
		go func() {
			_, err := faulty.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/a"})
			done <- errors.Join(err, faulty.Sync(t.Context()))
		}()
		time.Sleep(4 * time.Second)
		if exists(t, faulty, "/a") || exists(t, sound, "/a") {
			t.Error("it was committed")
		}
		if silent := time.Since(faulty.Acknowledged()); silent != 4*time.Second {
			t.Errorf("silent for %v", silent)
		}
		back()
		if err := <-done; err != nil || !exists(t, faulty, "/a") {
			t.Errorf("afterwards: %v", err)
		}
	})
}
