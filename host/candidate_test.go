package host

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/finder"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// lateReplies is a registry that delays replies.
type lateReplies struct {
	registry.Registry
	mu    sync.Mutex // guards until
	until func(path string, n registry.Node) <-chan struct{}
}

func (r *lateReplies) hold(until func(path string, n registry.Node) <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = until
}

func (r *lateReplies) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	return lateSession{s, r}, err
}

type lateSession struct {
	registry.Session
	r *lateReplies
}

func (s lateSession) Read(ctx context.Context, path string) (registry.Node, error) {
	n, err := s.Session.Read(ctx, path)
	s.r.mu.Lock()
	until := s.r.until(path, n)
	s.r.mu.Unlock()
	if until != nil {
		<-until
	}
	return n, err
}

func atOnce(string, registry.Node) <-chan struct{} { return nil }

// define21 returns the writes with which a tool defines a job.
func define21(t *testing.T, c job.Config) []registry.Op {
	t.Helper()
	l := layout.NewJob("n", c.Name)
	spelled, err := l.Spell(protocol.Definition{}, l.Define(c))
	if err != nil {
		t.Fatal(err)
	}
	at, modulePath, _ := l.Nodes()
	return []registry.Op{
		{Kind: registry.Create, Path: filepath.Dir(at)}, {Kind: registry.Create, Path: filepath.Dir(modulePath)},
		{Kind: registry.Create, Path: modulePath, Data: []byte(spelled.Module.String())}, {Kind: registry.Create, Path: at, Data: []byte(spelled.Config.String())},
	}
}

func (o *tool) commit(ops ...registry.Op) {
	o.t.Helper()
	if _, err := o.s.Commit(o.t.Context(), ops...); err != nil {
		o.t.Fatal(err)
	}
}

// deletions returns operations that delete nodes, in the given order.
func deletions(nodes []string) (ops []registry.Op) {
	for _, path := range nodes {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
	}
	return ops
}

// simple returns a job without requirements.
func simple(name, digest string) job.Config {
	return job.Config{
		Name: name, Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: digest, Layout: job.Layout21,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, MaxClockSkew: -1,
	}
}

// A job that is removed, and defined again while the server still checks whether it is gone,
// runs once.
func TestAJobThatIsMadeAgainRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		late := &lateReplies{Registry: reg, until: atOnce}
		var mu sync.Mutex // guards runs
		runs := map[string]int{}
		so := server(t, late, "10.0.0.1", make(chan trace.Row, 100))
		so.Runner = Func(func(_ context.Context, c job.Call) job.Outcome {
			mu.Lock()
			defer mu.Unlock()
			runs[c.RunID]++
			return job.Outcome{Verdict: job.OK}
		})
		h, stop := start(t, so)
		<-h.Ready()
		o := newTool(t, reg)
		fine := simple("j", strings.Repeat("0", 64))
		refused := fine
		refused.Strategy = "best"
		o.define(refused)
		until(t, h, "refused", failing("j", "strategy"))

		root := layout.NewJob("n", "j").Root()
		config, _, _ := layout.NewJob("n", "j").Nodes()
		look, list := make(chan struct{}), make(chan struct{})
		late.hold(func(path string, n registry.Node) <-chan struct{} {
			if path == config && !n.Exists {
				return look
			}
			return nil
		})
		var nodes []string
		for _, op := range define21(t, fine) {
			nodes = slices.Insert(nodes, 0, op.Path)
		}
		o.commit(deletions(nodes)...)
		synctest.Wait() // the list was read
		late.hold(func(path string, n registry.Node) <-chan struct{} {
			if path == filepath.Dir(root) && slices.Contains(n.Children, "j") {
				return list
			}
			return nil
		})
		o.commit(define21(t, fine)...)
		synctest.Wait()
		close(look)
		synctest.Wait()
		close(list)
		late.hold(atOnce)
		until(t, h, "joined", joined("j", 1))
		synctest.Wait()
		if all := h.Jobs(); len(all) != 1 {
			t.Errorf("the server runs it %d times", len(all))
		}
		for range 3 {
			if err := h.Trigger(t.Context(), "j"); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		mu.Lock()
		if len(runs) != 3 {
			t.Errorf("%v", runs)
		}
		for id, n := range runs {
			if n > 1 {
				t.Errorf("%s was run %d times", id, n)
			}
		}
		mu.Unlock()
		o.close()
		if err := errors.Join(stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestASecondRunnerOfAJobIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, stop := start(t, Options{Runner: Func(fine), Jobs: []job.Config{{Name: "j", Shards: 1}}})
		<-h.Ready()
		again := &hosted{config: h.jobs[0].config, code: h.jobs[0].code}
		again.runner = h.newRunner(again, nil)
		err := h.begin(t.Context(), again, func() { t.Error("it has run") })
		if err == nil || !strings.Contains(err.Error(), "job j runs on this server already") {
			t.Errorf("%v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job that an operator shut down on a server stays down there until it is defined anew.
func TestAShutDownEndsWithItsJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		so := server(t, reg, "10.0.0.1", make(chan trace.Row, 100))
		so.Runner = Func(fine)
		h, stop := start(t, so)
		<-h.Ready()
		o := newTool(t, reg)
		o.set("/n", "")
		shut := func() {
			until(t, h, "joined", joined("j", 1))
			o.commit(deletions([]string{layout.NewJob("n", "j").Instance(h.Jobs()[0].Instance)})...)
			until(t, h, "shut down", failing("j", "shut down"))
		}
		c := simple("j", strings.Repeat("0", 64))
		o.commit(define21(t, c)...)
		shut()
		o.change("j", func(c *v21.Config) { c.ShardingTotalCount = 3 })
		synctest.Wait()
		if s := h.Jobs(); len(s) != 1 || s[0].Instance != "" || s[0].Fault != finder.ErrShut.Error() {
			t.Errorf("the same job, changed: %+v", s)
		}
		o.remove("/n/j")
		until(t, h, "gone", none)
		o.commit(define21(t, c)...)
		shut()
		config, _, _ := layout.NewJob("n", "j").Nodes()
		made := define21(t, c)
		o.commit(append(deletions([]string{config}), made[len(made)-1])...) // the server does not see that the node was gone
		shut()
		_, modulePath, _ := layout.NewJob("n", "j").Nodes()
		o.commit(deletions([]string{config, modulePath})...) // another node of the job stays
		until(t, h, "gone", none)
		o.commit(made[len(made)-2:]...)
		until(t, h, "another one", joined("j", 1))
		o.close()
		if err := errors.Join(stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A peer that offers a module and never sends it does not delay other jobs.
func TestPeersThatDoNotAnswerHoldUpNoOtherJob(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan net.Conn)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		defer close(asked)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked <- c
		}
	})
	reg := embedded.Memory()
	o := newTool(t, reg)
	o.set("/n", "")
	for i := range finder.MaxLooks {
		name := "j" + strconv.Itoa(i)
		o.commit(define21(t, simple(name, strings.Repeat("0", 60)+strconv.Itoa(1000+i)))...)
		_, _, members := layout.NewJob("n", name).Nodes()
		o.set(members, "")
		o.set(members+"/10.0.0.9@-@1", `{"v":1,"address":"`+l.Addr().String()+`"}`)
	}
	so := server(t, reg, "10.0.0.1", make(chan trace.Row, 100))
	so.Modules = kit("ok")
	h, stop := start(t, so)
	var held []net.Conn
	patience := time.NewTimer(20 * time.Second)
	defer patience.Stop()
	for range finder.MaxLooks {
		select {
		case c := <-asked:
			held = append(held, c)
		case <-patience.C:
			t.Fatalf("%d were asked", len(held))
		}
	}
	o.commit(define21(t, simple("ok", digestOfKit(t, "ok")))...)
	until(t, h, "the other one", joined("ok", 1))
	o.close()
	if err := errors.Join(stop(), l.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
	for _, c := range held {
		_ = c.Close() // the other side has closed it
	}
	for c := range asked {
		_ = c.Close()
	}
	accepting.Wait()
}
