package operator

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// lagging is a server of the registry that is behind the others until a session syncs.
type lagging struct {
	registry.Registry
	mu     sync.Mutex               // guards behind
	behind map[string]registry.Node // nil: it is not behind
}

// fall freezes its nodes as they are now.
func (l *lagging) fall(ctx context.Context, t *testing.T, o *Operator) {
	t.Helper()
	all := map[string]registry.Node{}
	var read func(path string)
	read = func(path string) {
		n, err := o.session.Read(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range n.Children {
			read(path + "/" + c)
		}
		all[path] = n
	}
	read("/jobs")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.behind = all
}

func (l *lagging) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := l.Registry.Open(ctx, on)
	return laggingSession{s, l}, err
}

type laggingSession struct {
	registry.Session
	of *lagging
}

func (s laggingSession) Sync(ctx context.Context) error {
	s.of.mu.Lock()
	s.of.behind = nil
	s.of.mu.Unlock()
	return s.Session.Sync(ctx)
}

func (s laggingSession) Read(ctx context.Context, path string) (registry.Node, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.behind != nil {
		return s.of.behind[path], nil
	}
	return s.Session.Read(ctx, path)
}

// An operator whose server lags behind still reverts another operator's last request.
func TestOperatorThatLagsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		_, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Runner: host.Func(fine),
			Jobs: []job.Config{{Name: "j", Cron: "0 0 0 1 1 ?", Shards: 2}},
		})
		far := &lagging{Registry: reg}
		near, late, ctx := operate(t, reg), operate(t, far), t.Context()
		time.Sleep(30 * time.Second)
		enabled := func(r *JobReport) bool { return !r.Servers[0].Disabled }
		for _, s := range []struct {
			what          string
			first, second func() error
			done          func(*JobReport) bool
		}{
			{
				"enable an item", func() error { return near.SetItem(ctx, "j", 1, true) },
				func() error { return late.SetItem(ctx, "j", 1, false) },
				func(r *JobReport) bool { return !r.Items[1].Disabled },
			},
			{
				"resume", func() error { return near.Pause(ctx, "j", PauseTerms{}) }, func() error { return late.Resume(ctx, "j") },
				func(r *JobReport) bool { return !r.Paused },
			},
			{
				"enable a server", func() error { return near.SetServer(ctx, "j", "10.0.0.1", true) },
				func() error { return late.SetServer(ctx, "j", "10.0.0.1", false) }, enabled,
			},
			{
				"enable a job", func() error { return near.SetJob(ctx, "j", true) },
				func() error { return late.SetJob(ctx, "j", false) }, enabled,
			},
			{
				"shut down", func() error { return register(ctx, near, "10.0.0.9@-@b") },
				func() error {
					gone, err := late.Shutdown(ctx, "j", Which{IP: "10.0.0.9"})
					return errors.Join(err, equal(len(gone), 1))
				},
				func(r *JobReport) bool { return true },
			},
			{
				"enable a server of a new job", func() error { return errors.Join(newJob(ctx, near, "k"), near.SetServer(ctx, "k", "10.0.0.8", true)) },
				func() error {
					set, _, err := late.SetServers(ctx, "10.0.0.8", false)
					return errors.Join(err, equal(len(set), 1))
				},
				func(r *JobReport) bool { return true },
			},
			{
				"remove a new job", func() error { return newJob(ctx, near, "l") }, func() error { return late.Remove(ctx, "l", true) },
				func(r *JobReport) bool { return true },
			},
		} {
			far.fall(ctx, t, near)
			if err := s.first(); err != nil {
				t.Fatalf("%s: before it: %v", s.what, err)
			}
			if err := s.second(); err != nil {
				t.Errorf("%s: %v", s.what, err)
			}
			r, err := near.Job(ctx, "j")
			if err != nil {
				t.Fatal(err)
			}
			if !s.done(r) {
				t.Errorf("%s: it is not done: %+v", s.what, r)
			}
		}
		if err := errors.Join(late.Close(), near.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// register makes the node of a member that has no record.
func register(ctx context.Context, o *Operator, id job.InstanceID) error {
	path := layout.NewJob("jobs", "j").Instance(id)
	_, err := o.session.Commit(ctx, registry.Op{Kind: registry.CreateEphemeral, Path: path})
	return err
}

// newJob makes a job that knows the address of a server.
func newJob(ctx context.Context, o *Operator, name string) error {
	l := layout.NewJob("jobs", name)
	config, err := o.session.Read(ctx, layout.NewJob("jobs", "j").At("config"))
	if err != nil {
		return err
	}
	var ops []registry.Op
	for _, path := range []string{l.Root(), l.At("config"), l.At("servers"), l.At("servers") + "/10.0.0.8"} {
		ops = append(ops, registry.Op{Kind: registry.Create, Path: path})
	}
	ops[1].Data = bytes.ReplaceAll(config.Data, []byte(`"jobName":"j"`), []byte(`"jobName":"`+name+`"`))
	_, err = o.session.Commit(ctx, ops...)
	return err
}
