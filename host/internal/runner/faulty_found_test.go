package runner

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/discovery"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// found adds a job that is in the files of some servers alone, for one seed in two. The
// others find it in the registry, from where it is removed now and then.
func (p *plan) found(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 145)) // none of those that TestFaultyRegistryMended plays has such a job
	if rng.IntN(2) > 0 {
		return
	}
	c := drawJob(rng, len(p.jobs))
	p.jobs = append(p.jobs, c)
	p.changed[c.Name] = true
	p.finds = make([]bool, p.servers) // the first one does not: it is asked for what all are to do
	for k := 1; k < p.servers; k++ {
		p.finds[k] = k == p.servers-1 || rng.IntN(2) == 0
	}
	for range 1 + rng.IntN(3) {
		away := within(rng, 0, 2*faultyTimeout) // sessions may end meanwhile
		p.add(within(rng, 0, p.length), fmt.Sprintf("remove %s for %v", c.Name, away), func(w *faultyWorld) { w.remove(c.Name, away) })
	}
}

// findsIn reports whether a server has a job from the registry alone.
func (s *faultyServer) findsIn(name string) bool {
	return s.finds != nil && name == s.jobs[len(s.jobs)-1].Name && s.finds[slices.Index(s.servers, s)]
}

// finder is what a host has around discovery.State, without modules.
type finder struct {
	s        *faultyServer
	ctx      context.Context // that of the server's run
	sessions *session.Server
	log      *slog.Logger
	work     sync.WaitGroup // all that was begun

	mu       sync.Mutex // guards what follows
	state    *discovery.State
	lost     bool // the session in which the list is followed has ended
	found    map[string]*found
	list     *session.Job
	withdraw map[string]context.CancelFunc
}

// found is a candidate. One effect is under way at a time.
type found struct {
	f              *finder
	name           string
	layout         layout.Layout
	line           *session.Job
	config, module registry.Node
}

// find begins to look for jobs. The server waits for the returned function before it
// closes its session.
func (s *faultyServer) find(ctx context.Context, sessions *session.Server, log *slog.Logger) (end func()) {
	var own []string
	for _, c := range s.jobs {
		if !s.findsIn(c.Name) {
			own = append(own, c.Name)
		}
	}
	f := &finder{s: s, ctx: ctx, sessions: sessions, log: log, state: discovery.New(own...), found: map[string]*found{}, withdraw: map[string]context.CancelFunc{}}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		f.step(discovery.Stop{})
		close(stopped)
	})
	f.step(discovery.ListChanged{})
	return func() {
		<-stopped
		f.work.Wait()
		f.end()
	}
}

func (f *finder) end() {
	for _, c := range f.found {
		f.hangUp(c.line)
	}
	f.hangUp(f.list)
}

func (f *finder) hangUp(line *session.Job) bool {
	if line == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), leaveTimeout)
	defer cancel()
	err := line.Close(ctx)
	if err != nil && f.ctx.Err() != nil {
		line.Abandon()
	}
	return err == nil
}

func (f *finder) step(in discovery.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.state.Step(in) {
		f.do(e)
	}
}

// do begins an effect. mu is held.
func (f *finder) do(e discovery.Effect) {
	later := func(d time.Duration, in discovery.Input) {
		f.work.Go(func() {
			if session.Sleep(f.ctx, d) {
				f.step(in)
			}
		})
	}
	switch e := e.(type) {
	case discovery.List:
		f.work.Go(f.names)
	case discovery.RetryList:
		later(e.After, discovery.ListChanged{})
	case discovery.Look:
		c := f.found[e.Name]
		if c == nil {
			c = &found{f: f, name: e.Name, layout: layout.NewJob("test", e.Name)}
			f.found[e.Name] = c
		}
		f.work.Go(func() { c.look(e.Anew) })
	case discovery.Try:
		f.work.Go(f.found[e.Name].try)
	case discovery.Start:
		c := f.found[e.Name]
		ctx, withdraw := context.WithCancel(f.ctx)
		f.withdraw[e.Name] = withdraw
		f.work.Go(func() { c.run(ctx, withdraw) })
	case discovery.Withdraw:
		f.withdraw[e.Name]()
	case discovery.KeepShut:
		f.s.breach("%s was shut down on %s, which nobody asked for", e.Name, f.s.ip)
		later(0, discovery.Refused{Name: e.Name})
	case discovery.Hide:
		c := f.found[e.Name]
		f.work.Go(func() {
			if e.Forget {
				f.hangUp(c.line)
				c.line = nil
			}
			f.step(discovery.Hidden{Name: e.Name})
		})
	case discovery.Gone:
		delete(f.found, e.Name)
	case discovery.Retry:
		later(e.After, discovery.Touched{Name: e.Name})
	case discovery.FirstListed, discovery.Settled:
	}
}

// Event implements session.Listener, for the list of jobs.
func (f *finder) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
		return
	case registry.Ended:
		f.mu.Lock()
		f.lost = true
		f.mu.Unlock()
	case registry.Changed, registry.Resumed:
	}
	f.step(discovery.ListChanged{})
}

// HealthChanged implements session.Listener.
func (f *finder) HealthChanged(session.Health) {}

func (f *finder) names() {
	f.mu.Lock()
	line, lost := f.list, f.lost
	f.mu.Unlock()
	root := layout.JobsIn("test")
	if line == nil || lost {
		f.hangUp(line)
		fresh, err := f.sessions.Open(f.ctx, root, f)
		f.mu.Lock()
		f.list, f.lost, line = fresh, false, fresh
		f.mu.Unlock()
		if err != nil {
			f.step(discovery.ListFailed{})
			return
		}
	}
	n, err := line.Read(f.ctx, root)
	if err != nil {
		f.step(discovery.ListFailed{})
		return
	}
	f.step(discovery.Listed{Names: n.Children})
}

// Event implements session.Listener.
func (c *found) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
	case registry.Ended:
		c.f.step(discovery.SessionEnded{Name: c.name})
	case registry.Resumed:
		c.f.step(discovery.Touched{Name: c.name})
	case registry.Changed:
		config, module, members := c.layout.Nodes()
		of := e.Path == members || strings.HasPrefix(e.Path, members+"/")
		if of || e.Path == config || e.Path == module {
			c.f.step(discovery.Touched{Name: c.name, Members: of})
		}
	}
}

// HealthChanged implements session.Listener.
func (c *found) HealthChanged(session.Health) {}

func (c *found) look(anew bool) {
	if err := c.read(anew); err != nil {
		c.f.log.Debug("a job that was found cannot be read", "job", c.name, "error", err)
		c.f.step(discovery.Refused{Name: c.name, Again: true})
		return
	}
	c.f.step(discovery.Looked{Name: c.name, Config: c.config.Exists, Module: c.module.Exists, Created: c.config.Stat.Created})
}

func (c *found) read(anew bool) (err error) {
	if anew && !c.f.hangUp(c.line) {
		return fmt.Errorf("a line of %s is not closed", c.name)
	}
	if anew || c.line == nil {
		if c.line, err = c.f.sessions.Open(c.f.ctx, c.layout.Root(), c); err != nil {
			return err
		}
	}
	config, module, _ := c.layout.Nodes()
	if c.config, err = c.line.Read(c.f.ctx, config); err == nil {
		c.module, err = c.line.Read(c.f.ctx, module)
	}
	return err
}

func (c *found) try() {
	d, err := c.layout.ReadDefinition(c.config, c.module)
	if err == nil {
		facts, _ := layout.AdmissionFacts(c.layout, nil, d.Config, &d.Module, false)
		if v := admission.Decide(&facts); !v.Barred() {
			c.f.step(discovery.Fits{Name: c.name})
			return
		}
	}
	c.f.step(discovery.Refused{Name: c.name})
}

// run runs the job until ctx ends, or it is over here.
func (c *found) run(ctx context.Context, withdraw context.CancelFunc) {
	if !c.f.hangUp(c.line) {
		withdraw()
		c.f.step(discovery.Refused{Name: c.name, Again: true})
		return
	}
	c.line = nil
	d, err := c.layout.ReadDefinition(c.config, c.module)
	if err != nil {
		c.f.s.t.Error(err)
		return
	}
	config := d.Job(job.Config{})
	o := c.f.s.options(c.f.sessions, c.f.log, &config)
	o.Define, o.Defined = nil, nil
	o.Changed = func(now *job.Config) {
		if now == nil {
			withdraw()
		}
	}
	ended := make(chan struct{})
	c.f.s.begin(ctx, o, func() { close(ended) })
	<-ended
	asked := ctx.Err() != nil
	withdraw()
	c.f.step(discovery.Ended{Name: c.name, Asked: asked})
}
