package finder

import (
	"context"
	"log/slog"
	"path"
	"sync"
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
)

// endable is a registry whose newest session can be ended.
type endable struct {
	registry.Registry
	newest registry.Session
}

func (r *endable) Open(ctx context.Context, on func(registry.Event)) (s registry.Session, err error) {
	s, err = r.Registry.Open(ctx, on)
	r.newest = s
	return s, err
}

// cluster has a server that runs jobs of two items, and a tool that writes jobs.
type cluster struct {
	t       *testing.T
	reg     *endable
	tool    registry.Session
	work    sync.WaitGroup
	started chan string // names of jobs
}

// Unable implements Host.
func (c *cluster) Unable(of job.Config) []reason.Reason {
	if of.Shards == 2 {
		return nil
	}
	return []reason.Reason{reason.Of(reason.CronInvalid, "not with this number of items")}
}

// Found implements Host.
func (c *cluster) Found(name string) Job { return &found{c: c, name: name} }

// found implements Job.
type found struct {
	c    *cluster
	name string
}

func (*found) Show(job.Config)                                          {}
func (*found) Load(context.Context, job.Config) (again bool, err error) { return false, nil }
func (*found) Prefetch(job.Config)                                      {}
func (*found) Refuse(error)                                             {}
func (*found) Hide()                                                    {}
func (f *found) Start(ctx context.Context, _ func(*job.Config), ended func(asked bool)) (joined <-chan struct{}, err error) {
	f.c.started <- f.name
	f.c.work.Go(func() {
		<-ctx.Done()
		ended(true)
	})
	return ctx.Done(), nil
}

// define writes a job with the given number of items.
func (c *cluster) define(name string, items int) {
	c.t.Helper()
	l := layout.NewJob("n", name)
	spelled, err := l.Spell(protocol.Definition{}, l.Define(job.Config{Name: name, Kind: job.Simple, Shards: items, Layout: job.Layout21, MaxClockSkew: -1}))
	if err != nil {
		c.t.Fatal(err)
	}
	config, module, _ := l.Nodes()
	if n, err := c.tool.Read(c.t.Context(), config); err != nil || n.Exists {
		c.commit(registry.Op{Kind: registry.Set, Path: config, Data: []byte(spelled.Config.String()), Version: registry.AnyVersion})
		return
	}
	c.commit(
		registry.Op{Kind: registry.Create, Path: path.Dir(config)}, registry.Op{Kind: registry.Create, Path: path.Dir(module)},
		registry.Op{Kind: registry.Create, Path: module, Data: []byte(spelled.Module.String())},
		registry.Op{Kind: registry.Create, Path: config, Data: []byte(spelled.Config.String())},
	)
}

// starts waits until a job starts, which must be this one.
func (c *cluster) starts(name string) {
	c.t.Helper()
	select {
	case got := <-c.started:
		if got != name {
			c.t.Errorf("%s has started, not %s", got, name)
		}
	case <-time.After(time.Hour): // virtual
		c.t.Fatalf("%s has not started", name)
	}
}

func (c *cluster) commit(ops ...registry.Op) {
	c.t.Helper()
	if _, err := c.tool.Commit(c.t.Context(), ops...); err != nil {
		c.t.Fatal(err)
	}
}

// After a session has ended, the next one notices changes in a job that does not run
// here, and in the list of jobs.
func TestJobsAreFollowedInTheNextSession(t *testing.T) {
	t.Parallel()
	for _, ended := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := &cluster{t: t, reg: &endable{Registry: embedded.Memory()}, started: make(chan string, 10)}
			var err error
			if c.tool, err = c.reg.Registry.Open(t.Context(), func(registry.Event) {}); err != nil {
				t.Fatal(err)
			}
			c.commit(registry.Op{Kind: registry.Create, Path: "/n"})
			c.define("waits", 1)
			sessions := session.New(session.Options{Registry: c.reg, Namespace: layout.NewJob("n", "").Namespace()})
			below, stopSessions := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- sessions.Run(below) }()
			ctx, stop := context.WithCancel(t.Context())
			f := New(ctx, Options{Namespace: "n", Sessions: sessions, Host: c, Log: slog.New(slog.DiscardHandler), Go: c.work.Go})
			f.Begin()
			if !f.Await(ctx) || len(c.started) > 0 {
				t.Fatal("the job was not refused")
			}
			synctest.Wait()
			for range ended {
				if err := c.reg.newest.Close(); err != nil {
					t.Fatal(err)
				}
				if !session.Sleep(ctx, time.Minute) { // virtual time: meanwhile it opens another session
					t.Fatal("the test has ended")
				}
				synctest.Wait()
			}
			c.define("no-job.wasmjobd", 2) // its name is reserved for the state of a cluster, so it does not start
			synctest.Wait()
			c.define("waits", 2)
			c.starts("waits")
			c.define("comes", 2)
			c.starts("comes")
			stop()
			c.work.Wait()
			if err := f.End(); err != nil {
				t.Error(err)
			}
			stopSessions()
			for _, err := range []error{<-done, c.tool.Close(), c.reg.Close()} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
