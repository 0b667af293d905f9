package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a listener that records what it receives.
type recorder struct {
	mu     sync.Mutex // guards the fields below
	events []string
	job    *Job
}

func (e *recorder) Event(event registry.Event) {
	kind := map[registry.EventKind]string{
		registry.Changed: "changed ", registry.Suspended: "suspended", registry.Resumed: "resumed", registry.Ended: "ended",
	}[event.Kind]
	if event.Kind == registry.Changed && event.Changes == 0 {
		kind = "list "
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, kind+event.Path)
}

func (e *recorder) HealthChanged(now Health) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, fmt.Sprintf("health %d", now))
}

// all returns what was received since the last call.
func (e *recorder) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := strings.Join(e.events, ", ")
	e.events = nil
	return all
}

// world is a running Server on a registry whose faults the test chooses.
type world struct {
	*Server
	t      *testing.T
	faulty *registrytest.Faulty
	other  registry.Session // of another client
	log    *lockedBuffer
	stop   func()
}

type settings struct {
	embedded embedded.Options
	plan     registrytest.Plan
	granted  time.Duration
	since    time.Duration // how long the registry stays unreachable
	slept    func() time.Duration
}

const testNamespace = "/test/jobs"

func newWorld(t *testing.T, with settings) *world {
	t.Helper()
	inner := embedded.MemoryWith(with.embedded)
	w := &world{t: t, faulty: registrytest.NewFaulty(inner, with.plan), log: &lockedBuffer{}}
	w.faulty.Grant(with.granted)
	var err error
	if w.other, err = inner.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.Server = New(Options{
		Registry: registrytest.Unreachable{Registry: w.faulty, Away: registrytest.Until(time.Now().Add(with.since))}, Namespace: []string{"/test", testNamespace},
		Log: slog.New(slog.NewTextHandler(w.log, nil)), Slept: with.slept,
	})
	w.stop = startServer(t, w.Server)
	return w
}

// startServer starts a server. stop ends it and closes its registry.
func startServer(t *testing.T, s *Server) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, s.options.Registry.Close()); err != nil {
			t.Error(err)
		}
	})
}

// openOn opens a job session.
func openOn(t *testing.T, s *Server, root string) (*Job, *recorder) {
	t.Helper()
	e := &recorder{}
	j, err := s.Open(t.Context(), root, e)
	if err != nil {
		t.Fatal(err)
	}
	e.job = j
	return j, e
}

func closeJob(t *testing.T, j *Job) {
	t.Helper()
	if err := j.Close(t.Context()); err != nil {
		t.Errorf("close the job session: %v", err)
	}
}

func (w *world) openJob(name string) (*Job, *recorder) {
	w.t.Helper()
	return openOn(w.t, w.Server, testNamespace+"/"+name)
}

func (w *world) commit(s registry.Requests, ops ...registry.Op) {
	w.t.Helper()
	if _, err := s.Commit(w.t.Context(), ops...); err != nil {
		w.t.Fatalf("commit: %v", err)
	}
}

func (w *world) read(s registry.Requests, path string) registry.Node {
	w.t.Helper()
	n, err := s.Read(w.t.Context(), path)
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return n
}

func (w *world) closeJob(j *Job) {
	w.t.Helper()
	closeJob(w.t, j)
}

func create(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }

func ephemeral(path string) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: path}
}

func remove(path string) registry.Op {
	return registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion}
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
