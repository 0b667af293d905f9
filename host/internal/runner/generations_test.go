package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// removeBelow deletes a node and all nodes below it, as a tool would.
func removeBelow(t *testing.T, s registry.Session, path string) {
	t.Helper()
	n, err := s.Read(t.Context(), path)
	must(t, err)
	for _, name := range n.Children {
		removeBelow(t, s, path+"/"+name)
	}
	if n.Exists {
		_, err = s.Commit(t.Context(), registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
		must(t, err)
	}
}

// An operator removes the job, namespace and all, during a run, and creates it again
// later. Until then no server recreates it. Then the job begins again in the same
// session, and nothing of the earlier member disturbs it.
func TestManyMembersInOneSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		operator, err := reg.Open(t.Context(), nil)
		must(t, err)
		s := serve(t, reg, rows, "10.0.0.1", nil)
		for range 5 {
			time.Sleep(10*time.Second + 500*time.Millisecond)
			v := s.snapshot.Load().view
			removeBelow(t, operator, "/test")
			time.Sleep(time.Minute)
			n, err := operator.Read(t.Context(), s.Layout.Root())
			must(t, err)
			if text := reason.Words(s.Status().Troubles, "\n"); n.Exists || !strings.Contains(text, "the job was removed from the registry") {
				t.Fatalf("the job is there: %v; %s", n.Exists, text)
			}
			setup := s.Layout.Encode(protocol.Setup{Definition: v.Definition}, s.Layout.NewDecoder(nil).View())
			_, err = operator.Commit(t.Context(), setup...)
			must(t, err)
			time.Sleep(2 * time.Second)
			if got := s.Status(); got.Instance == "" || len(got.Items) != 4 {
				t.Fatalf("status %+v, want that it has begun again", got)
			}
		}
		if n := len(s.sessions); n != 1 {
			t.Errorf("%d sessions, want one", n)
		}
		if text := reason.Words(s.Status().Troubles, "\n"); strings.Contains(text, "removed") {
			t.Error(text)
		}
		time.Sleep(time.Minute)
		s.stop(t)
		if got := rows.states()[trace.Succeeded]; got < 16 {
			t.Errorf("%d good runs", got)
		}
		must(t, reg.Close())
	})
}

// A tool removes a job that three servers run, node by node. They do not recreate it, not
// even in another session. A server that starts does, and then all run it.
func TestARemovedJobStaysAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		operator, err := reg.Open(t.Context(), nil)
		must(t, err)
		var all []*server
		for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			all = append(all, serve(t, reg, rows, ip, nil))
			time.Sleep(time.Second)
		}
		time.Sleep(12*time.Second + 500*time.Millisecond) // all items run
		root := all[0].Layout.Root()
		removeBelow(t, operator, root)
		away := func(when string) {
			t.Helper()
			time.Sleep(time.Minute)
			n, err := operator.Read(t.Context(), root)
			must(t, err)
			if n.Exists {
				t.Errorf("%s, the job is there again", when)
			}
			for _, s := range all {
				notHere(t, s)
			}
		}
		away("when it was removed")
		must(t, all[0].kill())
		away("when a session has ended")
		all = append(all, serve(t, reg, rows, "10.0.0.4", nil))
		time.Sleep(time.Minute)
		for k, s := range all {
			if st := s.Status(); st.Instance == "" || len(st.Troubles) != 0 {
				t.Errorf("server %d: %+v", k, st)
			}
		}
		for _, s := range all {
			s.stop(t)
		}
		must(t, reg.Close())
	})
}

// The server loses its permissions on a job's nodes and gets them back later. The job
// reports that, waits, and goes on.
func TestDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var denied atomic.Bool
		reg, rows := registrytest.NewFaulty(embedded.Memory(), func(_ int, ops []registry.Op) registrytest.Outcome {
			if denied.Load() && strings.Contains(ops[0].Path, testJob) {
				return registrytest.Deny
			}
			return registrytest.Pass
		}), &book{}
		s := serve(t, reg, rows, "10.0.0.1", nil)
		time.Sleep(15 * time.Second)
		denied.Store(true)
		time.Sleep(time.Minute)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0].String(), "/test/"+testJob) {
			t.Errorf("troubles %q, want one that names the path", got)
		}
		denied.Store(false)
		time.Sleep(30 * time.Second)
		if got := s.Status().Troubles; len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

// unreadable is a session that may not read some nodes.
type unreadable struct {
	registry.Session
	denied *atomic.Pointer[string]
}

func (u unreadable) Read(ctx context.Context, path string) (registry.Node, error) {
	if p := u.denied.Load(); p != nil && strings.HasSuffix(path, *p) {
		return registry.Node{}, fmt.Errorf("read %s: %w", path, registry.ErrDenied)
	}
	return u.Session.Read(ctx, path)
}

func TestReadIsDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var denied atomic.Pointer[string]
		config := "/config"
		denied.Store(&config)
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return unreadable{s, &denied} }}
		s := serveThrough(t, d, rows, "10.0.0.1", nil)
		time.Sleep(time.Minute)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0].String(), "/test/"+testJob+"/config") {
			t.Errorf("troubles %q, want one that names the path", got)
		}
		denied.Store(nil)
		time.Sleep(30 * time.Second)
		if got := s.Status(); len(got.Troubles) != 0 || got.Instance == "" {
			t.Errorf("status %+v, want that it has joined", got)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// When a server's jobs read their nodes for the first time, they do so one after the
// other. Nodes that cannot be read do not hold that up.
func TestLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, looks := embedded.Memory(), &book{}, NewSlots(1)
		share := func(o *Options) { o.Looks = looks }
		looks <- struct{}{}
		first := serve(t, reg, rows, "10.0.0.1", share)
		time.Sleep(time.Minute)
		select {
		case <-first.Joined():
			t.Error("it joined before it could have looked")
		default:
		}
		<-looks
		<-first.Joined()
		var denied atomic.Pointer[string]
		config := "/config"
		denied.Store(&config)
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return unreadable{s, &denied} }}
		blind := serveThrough(t, d, rows, "10.0.0.2", share)
		time.Sleep(time.Second)
		last := serve(t, reg, rows, "10.0.0.3", share)
		<-last.Joined()
		denied.Store(nil)
		<-blind.Joined()
		for _, s := range []*server{blind, first, last} {
			s.stop(t)
		}
		if len(looks) != 0 {
			t.Error("somebody looks who has ended")
		}
		must(t, reg.Close())
	})
}

// A job ends while its server is disconnected, but server and session live on. When the
// connection is back, no node is left that others would take for a member.
func TestJobEndsWhileCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := embedded.Memory()
		reg, rows := registrytest.NewFaulty(inner, nil), &book{}
		reg.Grant(time.Hour) // the session outlives the outage
		operator, err := inner.Open(t.Context(), nil)
		must(t, err)
		nodes := layout.NewJob("test", testJob)
		sessions := session.New(session.Options{Registry: reg, Namespace: nodes.Namespace(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
		server, stopServer := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- sessions.Run(server) }()
		over := make(chan error, 1)
		toEnd, withdraw := context.WithCancel(server)
		runnerOn(rows, "10.0.0.1", sessions, nodes).Start(toEnd, func(err error) { over <- err })
		time.Sleep(15 * time.Second)
		reg.Suspend()
		time.Sleep(time.Second)
		withdraw()
		<-over
		reg.Resume()
		time.Sleep(time.Minute)
		n, err := operator.Read(t.Context(), nodes.Instance("10.0.0.1@-@1"))
		must(t, err)
		if n.Exists {
			t.Error("a member is there that nobody runs")
		}
		stopServer()
		must(t, errors.Join(<-done, reg.Close()))
	})
}

// runnerOn makes a runner on the test's own session.
func runnerOn(rows *book, ip string, sessions *session.Server, l layout.Layout) *Runner {
	config := testConfig()
	return New(Options{
		Sessions: sessions, Layout: l, Config: &config, Instance: job.NewInstanceID(ip, "1"), Clock: &metronome{},
		Guests: takes(time.Second), Assigner: assignAverage{}, Sink: rows, DrainTimeout: 10 * time.Second,
		Origin: Origin{Define: l.Define},
	})
}

// failing is a session whose first reads of the job get no answer.
type failing struct {
	registry.Session
	left *atomic.Int32
}

func (f failing) Read(ctx context.Context, path string) (registry.Node, error) {
	if strings.Contains(path, testJob) && f.left.Add(-1) >= 0 {
		return registry.Node{}, errDisk
	}
	return f.Session.Read(ctx, path)
}

// Reads that fail together count as a single round.
func TestReadsThatFailTogether(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			reg := embedded.Memory()
			var left atomic.Int32
			left.Store(n)
			begun := time.Now()
			s := serveThrough(t, &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return failing{s, &left} }}, &book{}, "10.0.0.1", nil)
			<-s.Joined()
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%d reads failed once: joined after %v", n, took)
			}
			s.stop(t)
			must(t, reg.Close())
		})
	}
}
