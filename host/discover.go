package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/discovery"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// discoverer follows the list of jobs in the registry and carries out what package
// discovery decides about it. It has no goroutine while nothing changes.
type discoverer struct {
	h     *Host
	ctx   context.Context //nolint:containedctx // of Run
	root  string          // the parent of all jobs
	looks chan struct{}   // bounds how many candidates are read at the same time

	once   sync.Once
	opened chan struct{} // closed when session is set
	listed chan struct{} // closed when the jobs were listed for the first time

	mu         sync.Mutex // guards the fields below
	state      *discovery.State
	candidates map[string]*candidate
	session    *session.Job
	lost       bool // session has ended
	retry      *time.Timer
}

// maxLooks bounds how many candidates are read at the same time.
const maxLooks = 256

func newDiscoverer(ctx context.Context, h *Host) *discoverer {
	root := "/"
	if above := layout.NewJob(h.o.Namespace, "").Namespace(); len(above) > 0 {
		root = above[len(above)-1]
	}
	var own []string
	h.mu.Lock()
	for _, j := range h.jobs {
		own = append(own, j.config.Name)
	}
	h.mu.Unlock()
	return &discoverer{
		h: h, ctx: ctx, root: root, looks: make(chan struct{}, maxLooks), opened: make(chan struct{}), listed: make(chan struct{}),
		state: discovery.New(own...), candidates: map[string]*candidate{},
	}
}

// begin starts discovery. The caller calls end when ctx has ended and so has all work that
// was begun.
func (d *discoverer) begin() {
	d.h.work.Go(func() { // once this has ended, no work begins
		<-d.ctx.Done()
		d.step(discovery.Stop{})
		d.mu.Lock()
		defer d.mu.Unlock()
		stopTimer(d.retry)
		for _, c := range d.candidates {
			stopTimer(c.retry)
		}
	})
	d.step(discovery.ListChanged{})
}

// end closes the sessions.
func (d *discoverer) end() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), closeTimeout)
	defer cancel()
	var faults []error
	for _, c := range d.candidates {
		if c.session != nil {
			faults = append(faults, c.session.Close(ctx))
		}
	}
	if d.session != nil {
		faults = append(faults, d.session.Close(ctx))
	}
	return errors.Join(faults...)
}

const closeTimeout = 10 * time.Second

// step hands an input to package discovery and begins the effects that follow.
func (d *discoverer) step(in discovery.Input) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.state.Step(in) {
		d.do(e)
	}
}

// do begins an effect and does not wait for it. Call it with mu held.
func (d *discoverer) do(e discovery.Effect) {
	begin := d.h.work.Go
	switch e := e.(type) {
	case discovery.List:
		begin(d.list)
	case discovery.RetryList:
		stopTimer(d.retry)
		d.retry = time.AfterFunc(backoff.Spread(e.After), func() { d.step(discovery.ListChanged{}) })
	case discovery.FirstListed:
		close(d.listed)
	case discovery.Look:
		c := d.candidates[e.Name]
		if c == nil {
			c = newCandidate(d, e.Name)
			d.candidates[e.Name] = c
		}
		begin(func() { c.look(e.Anew) })
	case discovery.Try:
		begin(d.candidates[e.Name].try)
	case discovery.Start:
		c := d.candidates[e.Name]
		stopTimer(c.retry)
		var ctx context.Context
		ctx, c.withdraw = context.WithCancel(d.ctx)
		withdraw := c.withdraw
		begin(func() { c.start(ctx, withdraw) })
	case discovery.Withdraw:
		d.candidates[e.Name].end(e)
	case discovery.Prefetch:
		c := d.candidates[e.Name]
		j, config := c.job, c.current()
		if !j.code.Ready(config) {
			begin(func() { d.h.loadChanged(j, config) })
		}
	case discovery.KeepShut:
		c := d.candidates[e.Name]
		begin(func() { c.refuse(errShut, false) })
	case discovery.Hide:
		c := d.candidates[e.Name]
		begin(func() { c.leave(e.Forget) })
	case discovery.Settled:
		d.candidates[e.Name].settle()
	case discovery.Gone:
		c := d.candidates[e.Name]
		stopTimer(c.retry)
		delete(d.candidates, e.Name)
		close(c.gone)
	case discovery.Retry:
		c := d.candidates[e.Name]
		stopTimer(c.retry)
		c.retry = time.AfterFunc(backoff.Spread(e.After), func() { d.step(discovery.Touched{Name: e.Name}) })
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// alongside begins work for which the end of Run waits. Once that end is near, it begins
// none.
func (d *discoverer) alongside(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.Stopped() {
		d.h.work.Go(do)
	}
}

// fileLost gives discovery the name of one of the host's own jobs that was removed and has
// left. The job may be found in the registry, or no server may run it now.
func (d *discoverer) fileLost(name string) {
	d.step(discovery.FileLost{Name: name})
}

// fileHas makes a candidate leave, because it is one of the host's own jobs from now on. It
// returns when the candidate has left or the host ends.
func (d *discoverer) fileHas(name string) {
	d.mu.Lock()
	c := d.candidates[name]
	d.mu.Unlock()
	d.step(discovery.FileHas{Name: name})
	if c == nil {
		return
	}
	select {
	case <-c.gone:
	case <-d.ctx.Done():
	}
}

// Event implements session.Listener.
func (d *discoverer) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
		return
	case registry.Ended:
		d.mu.Lock()
		d.lost = true
		d.mu.Unlock()
	case registry.Changed, registry.Resumed:
	}
	d.step(discovery.ListChanged{})
}

// HealthChanged implements session.Listener.
func (d *discoverer) HealthChanged(session.Health) {}

// list carries out discovery.List.
func (d *discoverer) list() {
	names, err := d.names()
	if err == nil {
		d.step(discovery.Listed{Names: names})
		return
	}
	if d.ctx.Err() == nil {
		d.h.o.Log.Warn("the jobs in the registry cannot be listed, trying again", "path", d.root, "error", err)
	}
	d.step(discovery.ListFailed{})
}

// names returns the names of all jobs in the registry, or none if this server runs its own
// jobs alone.
func (d *discoverer) names() ([]string, error) {
	s, err := d.openSession()
	if err != nil {
		return nil, err
	}
	if !d.h.o.Discover {
		return nil, d.undefined(s)
	}
	n, err := s.Read(d.ctx, d.root)
	return n.Children, err
}

// openSession returns the session that follows the list of jobs. It opens another one if
// that has ended.
func (d *discoverer) openSession() (*session.Job, error) {
	d.mu.Lock()
	s, lost := d.session, d.lost
	d.mu.Unlock()
	if s != nil && !lost {
		return s, nil
	}
	if s != nil {
		if err := s.Close(d.ctx); err != nil {
			return nil, fmt.Errorf("close a session of the registry: %w", err)
		}
	}
	s, err := d.h.sessions.Open(d.ctx, d.root, d)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session, d.lost = s, false
	d.once.Do(func() { close(d.opened) })
	return s, nil
}

// known returns the current candidates.
func (d *discoverer) known() []*candidate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.candidates))
}

// awaitSession returns the session that follows the list of jobs, for reads.
func (d *discoverer) awaitSession(ctx context.Context) (*session.Job, error) {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session, nil
}
