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

// discoverer follows the list of jobs in the registry and does what package discovery
// decides about it. It has no goroutine while nothing changes.
type discoverer struct {
	h     *Host
	ctx   context.Context //nolint:containedctx // that of the server's run
	root  string          // the parent of all jobs
	looks chan struct{}   // one for each candidate that is being looked at

	open   sync.Once
	opened chan struct{} // closed when there is a line
	listed chan struct{} // closed when the jobs were listed for the first time

	mu         sync.Mutex // guards what follows
	state      *discovery.State
	candidates map[string]*candidate
	looked     bool            // at which jobs nobody runs
	dropped    map[string]bool // jobs that a reload has dropped since
	line       *session.Job
	lost       bool // the session of the line has ended
	retry      *time.Timer
}

// maxLooks bounds how many candidates are looked at at once.
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
		state: discovery.New(own...), candidates: map[string]*candidate{}, dropped: map[string]bool{},
	}
}

// begin starts to look; end must follow when ctx has ended and all that was begun is
// over.
func (d *discoverer) begin() {
	d.h.at.Go(func() { // nothing is begun when nobody waits for it any more
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

// end closes the lines.
func (d *discoverer) end() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), lineTimeout)
	defer cancel()
	var faults []error
	for _, c := range d.candidates {
		if c.line != nil {
			faults = append(faults, c.line.Close(ctx))
		}
	}
	if d.line != nil {
		faults = append(faults, d.line.Close(ctx))
	}
	return errors.Join(faults...)
}

const lineTimeout = 10 * time.Second

// step decides what follows from an input, and begins it.
func (d *discoverer) step(in discovery.Input) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.state.Step(in) {
		d.do(e)
	}
}

// do begins an effect, and waits for nothing. It is called with mu held.
func (d *discoverer) do(e discovery.Effect) {
	begin := d.h.at.Go
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
		begin(func() { c.run(ctx, withdraw) })
	case discovery.Withdraw:
		d.candidates[e.Name].end(e)
	case discovery.Prefetch:
		c := d.candidates[e.Name]
		j, config := c.job, c.current()
		if !j.code.Ready(config) {
			begin(func() { d.h.prepare(j, config) })
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

// alongside does something that the end of the host waits for, unless that is near.
func (d *discoverer) alongside(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.Stopped() {
		d.h.at.Go(do)
	}
}

// fileLost frees the name of a job that the server's own file has no more and that has
// left: it may be found in the registry, or nobody runs it now.
func (d *discoverer) fileLost(name string) {
	d.mu.Lock()
	d.dropped[name] = true
	d.mu.Unlock()
	d.step(discovery.FileLost{Name: name})
}

// fileHas has a candidate leave this server, whose own file has the job now. It
// returns when it has, or when the host ends.
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

// list reads the names of all jobs.
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

// names are those of all jobs; none if this server runs those of its file alone.
func (d *discoverer) names() ([]string, error) {
	line, err := d.connect()
	if err != nil {
		return nil, err
	}
	if !d.h.o.Discover {
		return nil, d.undefined(line)
	}
	n, err := line.Read(d.ctx, d.root)
	return n.Children, err
}

// connect gives the line, in a new session if need be.
func (d *discoverer) connect() (*session.Job, error) {
	d.mu.Lock()
	line, lost := d.line, d.lost
	d.mu.Unlock()
	if line != nil && !lost {
		return line, nil
	}
	if line != nil {
		if err := line.Close(d.ctx); err != nil {
			return nil, fmt.Errorf("close a line of the registry: %w", err)
		}
	}
	line, err := d.h.sessions.Open(d.ctx, d.root, d)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line, d.lost = line, false
	d.open.Do(func() { close(d.opened) })
	return line, nil
}

// known are the candidates that there are now.
func (d *discoverer) known() []*candidate {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.candidates))
}

// reader is the line by which others read.
func (d *discoverer) reader(ctx context.Context) (*session.Job, error) {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.line, nil
}
