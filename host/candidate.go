package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/discovery"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// candidate is a job that was found in the registry. While it does not run here,
// it has a line, by which it is notified of changes; while it runs, its runner has.
type candidate struct {
	d      *discoverer
	name   string
	layout layout.Layout

	once    sync.Once
	settled chan struct{} // closed when it was looked at, and has joined if it may
	gone    chan struct{} // closed when nothing of it is left

	// Guarded by the discoverer's mu:

	retry    *time.Timer
	withdraw context.CancelFunc // ends the job here; nil: it has never run

	// Of the one effect that is under way:

	line           *session.Job
	job            *hosted
	config, module registry.Node // as they were read last
}

// errShut is why a job does not run that was shut down here.
var errShut = errors.New("it was shut down on this server")

func newCandidate(d *discoverer, name string) *candidate {
	return &candidate{d: d, name: name, layout: layout.NewJob(d.h.o.Namespace, name), settled: make(chan struct{}), gone: make(chan struct{})}
}

func (c *candidate) settle() { c.once.Do(func() { close(c.settled) }) }

// Event implements session.Listener.
func (c *candidate) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
	case registry.Ended:
		c.d.step(discovery.SessionEnded{Name: c.name})
	case registry.Resumed:
		c.d.step(discovery.Touched{Name: c.name})
	case registry.Changed:
		config, module, members := c.layout.Nodes()
		of := e.Path == members || strings.HasPrefix(e.Path, members+"/")
		if of || e.Path == config || e.Path == module { // of what others do with the job there is much more
			c.d.step(discovery.Touched{Name: c.name, Members: of})
		}
	}
}

// HealthChanged implements session.Listener.
func (c *candidate) HealthChanged(session.Health) {}

// look reads both nodes of the definition. Of later changes the line notifies.
func (c *candidate) look(anew bool) {
	err := c.read(anew)
	switch {
	case c.d.ctx.Err() != nil:
		c.d.step(discovery.Stop{})
		c.d.step(discovery.Refused{Name: c.name})
	case err != nil:
		c.refuse(err, true)
	default:
		c.d.step(discovery.Looked{Name: c.name, Config: c.config.Exists, Module: c.module.Exists, Created: c.config.Stat.Created})
	}
}

func (c *candidate) read(anew bool) error {
	select {
	case c.d.looks <- struct{}{}:
		defer func() { <-c.d.looks }()
	case <-c.d.ctx.Done():
		return c.d.ctx.Err()
	}
	if err := c.connect(anew); err != nil {
		return err
	}
	config, module, _ := c.layout.Nodes()
	nodes, err := c.fetch(config, module)
	if err != nil {
		return err
	}
	c.config, c.module = nodes[0], nodes[1]
	return nil
}

// connect gives the candidate a line, in a new session if need be.
func (c *candidate) connect(anew bool) error {
	if anew {
		if err := c.hangUp(); err != nil {
			return err
		}
	}
	if c.line != nil {
		return nil
	}
	line, err := c.d.h.sessions.Open(c.d.ctx, c.layout.Root(), c)
	c.line = line
	return err
}

func (c *candidate) hangUp() error {
	if c.line == nil {
		return nil
	}
	if err := c.line.Close(c.d.ctx); err != nil {
		return fmt.Errorf("close a line of the registry: %w", err)
	}
	c.line = nil
	return nil
}

// fetch reads nodes.
func (c *candidate) fetch(paths ...string) ([]registry.Node, error) {
	nodes, faults := make([]registry.Node, len(paths)), make([]error, len(paths))
	var reads sync.WaitGroup
	for i, path := range paths {
		reads.Add(1)
		c.line.Fetch(c.d.ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			if nodes[i] = n; err != nil {
				faults[i] = fmt.Errorf("read %s: %w", path, err)
			}
		})
	}
	reads.Wait()
	return nodes, errors.Join(faults...)
}

// try finds out whether this server may and can run the job.
func (c *candidate) try() {
	d, err := c.layout.ReadDefinition(c.config, c.module)
	if err != nil {
		c.refuse(err, false)
		return
	}
	config := d.Job(job.Config{})
	c.show(config)
	if v := admission.Decide(c.facts(&d, config)); v.Barred() {
		c.refuse(refusal(v.Blockers), false)
		return
	}
	if err := c.job.code.Load(c.d.ctx, config); err != nil {
		_, elsewhere := errors.AsType[*supply.FetchError](err)
		c.refuse(err, elsewhere || ofTheSystem(err))
		return
	}
	c.d.step(discovery.Fits{Name: c.name})
}

// facts are those of a server that is about to join. Of members of ElasticJob the
// runner finds out.
func (c *candidate) facts(d *definition.Definition, config job.Config) *admission.Facts {
	f, _ := layout.AdmissionFacts(c.layout, nil, d.Config, &d.Module, false)
	f.Unable = c.d.h.o.Unable(config, nil)
	return &f
}

// run lets the job run until ctx ends, or it is over here.
func (c *candidate) run(ctx context.Context, withdraw context.CancelFunc) {
	h := c.d.h
	if err := c.hangUp(); err != nil {
		withdraw()
		c.refuse(err, true)
		return
	}
	h.o.Log.Info("a job of the registry runs on this server", "job", c.name, "module", c.job.config.ModuleDigest)
	r := h.runnerOf(c.job, c.changed)
	h.mu.Lock()
	c.job.runner, c.job.fault = r, ""
	h.mu.Unlock()
	err := h.begin(ctx, c.job, func() {
		asked := ctx.Err() != nil
		c.over(asked)
		withdraw()
		c.settle() // somebody of the runner's still waits for this
		c.d.step(discovery.Ended{Name: c.name, Asked: asked})
	})
	if err != nil {
		withdraw()
		c.over(true)
		c.refuse(err, true)
		return
	}
	h.at.Go(func() {
		select {
		case <-r.Joined():
		case <-ctx.Done():
		}
		c.settle()
	})
}

// over is that the job does not run any more. If nobody asked for that, it was shut
// down here.
func (c *candidate) over(asked bool) {
	h := c.d.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.job.runner = nil; !asked {
		c.job.fault = errShut.Error()
	}
}

// changed is called by the runner with what the job is now; nil: the registry does not
// have it any more.
func (c *candidate) changed(now *job.Config) {
	h := c.d.h
	in := discovery.Changed{Name: c.name, Removed: now == nil}
	if now != nil {
		h.mu.Lock()
		in.Same = reflect.DeepEqual(*c.job.config, *now)
		c.job.config = now
		h.mu.Unlock()
	}
	if now != nil && !in.Same {
		in.Blockers = h.o.Unable(*now, nil)
	}
	c.d.step(in)
}

// current is the configuration that the host shows.
func (c *candidate) current() job.Config {
	c.d.h.mu.Lock()
	defer c.d.h.mu.Unlock()
	return *c.job.config
}

// end ends the job here and logs why.
func (c *candidate) end(e discovery.Withdraw) {
	switch log := c.d.h.o.Log; {
	case e.Removed:
		log.Info("the job is not in the registry any more", "job", c.name)
	case len(e.Blockers) > 0:
		log.Error("the job was changed so that this server may not run it any more", "job", c.name, "error", refusal(e.Blockers))
	}
	c.withdraw()
}

// refuse says why the job does not run here. again: it may after a while.
func (c *candidate) refuse(err error, again bool) {
	h := c.d.h
	if c.job == nil {
		c.show(job.Config{Name: c.name})
	}
	h.mu.Lock()
	news := c.job.fault != err.Error()
	c.job.fault = err.Error()
	h.mu.Unlock()
	if news {
		h.o.Log.Warn("a job of the registry does not run on this server", "job", c.name, "error", err)
	}
	c.d.step(discovery.Refused{Name: c.name, Again: again})
}

// leave takes the job from those of the host, and its line if nothing of it is to be
// left.
func (c *candidate) leave(forget bool) {
	if c.hide(); forget {
		if err := c.hangUp(); err != nil {
			c.d.h.o.Log.Debug("the end of the session closes the line of a job that is gone", "job", c.name, "error", err)
		}
	}
	c.d.step(discovery.Hidden{Name: c.name})
}

// show puts the job among those of the host.
func (c *candidate) show(config job.Config) {
	h := c.d.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.job != nil {
		c.job.config = &config
		return
	}
	c.job = &hosted{config: &config, found: true, code: h.store.NewCode(nil)}
	c.job.code.SetPeers(c.d.peersOf(c.name))
	own := h.owned()
	at, _ := slices.BinarySearchFunc(h.jobs[own:], c.name, func(j *hosted, name string) int { return strings.Compare(j.config.Name, name) })
	h.jobs = slices.Insert(h.jobs, own+at, c.job)
}

// hide takes the job from those of the host.
func (c *candidate) hide() {
	if c.job == nil {
		return
	}
	h := c.d.h
	h.mu.Lock()
	h.jobs = slices.DeleteFunc(h.jobs, func(j *hosted) bool { return j == c.job })
	h.mu.Unlock()
	c.job.code.Close()
	c.job = nil
}
