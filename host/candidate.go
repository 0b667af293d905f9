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

// candidate is a job that discovery found in the registry. While it does not run here, it
// has a job session, which reports changes. While it runs, its runner has one.
type candidate struct {
	d      *discoverer
	name   string
	layout layout.Layout

	once    sync.Once
	settled chan struct{} // closed when it has joined or was refused for the first time
	gone    chan struct{} // closed when nothing of it is left

	// Guarded by the discoverer's mu:

	retry    *time.Timer
	withdraw context.CancelFunc // ends the current run; nil before the first

	// Used by one effect at a time:

	session        *session.Job
	job            *hosted
	config, module registry.Node // as last read
}

// errShut is the error of a job that was shut down on this server.
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
		ofMembers := e.Path == members || strings.HasPrefix(e.Path, members+"/")
		if ofMembers || e.Path == config || e.Path == module { // a job that runs elsewhere changes many other nodes
			c.d.step(discovery.Touched{Name: c.name, Members: ofMembers})
		}
	}
}

// HealthChanged implements session.Listener.
func (c *candidate) HealthChanged(session.Health) {}

// look carries out discovery.Look.
func (c *candidate) look(anew bool) {
	err := c.readDefinition(anew)
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

// readDefinition reads both nodes of the definition.
func (c *candidate) readDefinition(anew bool) error {
	select {
	case c.d.looks <- struct{}{}:
		defer func() { <-c.d.looks }()
	case <-c.d.ctx.Done():
		return c.d.ctx.Err()
	}
	if err := c.openSession(anew); err != nil {
		return err
	}
	config, module, _ := c.layout.Nodes()
	nodes, err := c.readNodes(config, module)
	if err != nil {
		return err
	}
	c.config, c.module = nodes[0], nodes[1]
	return nil
}

// openSession opens the job session unless it is open. With anew, it opens another one.
func (c *candidate) openSession(anew bool) error {
	if anew {
		if err := c.closeSession(); err != nil {
			return err
		}
	}
	if c.session != nil {
		return nil
	}
	s, err := c.d.h.sessions.Open(c.d.ctx, c.layout.Root(), c)
	c.session = s
	return err
}

func (c *candidate) closeSession() error {
	if c.session == nil {
		return nil
	}
	if err := c.session.Close(c.d.ctx); err != nil {
		return fmt.Errorf("close a session of the registry: %w", err)
	}
	c.session = nil
	return nil
}

// readNodes reads nodes, all at the same time.
func (c *candidate) readNodes(paths ...string) ([]registry.Node, error) {
	nodes, faults := make([]registry.Node, len(paths)), make([]error, len(paths))
	var reads sync.WaitGroup
	for i, path := range paths {
		reads.Add(1)
		c.session.Fetch(c.d.ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			if nodes[i] = n; err != nil {
				faults[i] = fmt.Errorf("read %s: %w", path, err)
			}
		})
	}
	reads.Wait()
	return nodes, errors.Join(faults...)
}

// try carries out discovery.Try: it finds out whether this server may run the job, and
// loads its code.
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
		c.refuse(err, elsewhere || isSystemError(err))
		return
	}
	c.d.step(discovery.Fits{Name: c.name})
}

// facts returns the facts of a server that is about to join. Foreign members are not among
// them: the runner looks for those.
func (c *candidate) facts(d *definition.Definition, config job.Config) *admission.Facts {
	f, _ := layout.AdmissionFacts(c.layout, nil, d.Config, &d.Module, false)
	f.Unable = c.d.h.o.Unable(config, nil)
	return &f
}

// start carries out discovery.Start. The job runs until ctx ends or an operator shuts it
// down here.
func (c *candidate) start(ctx context.Context, withdraw context.CancelFunc) {
	h := c.d.h
	if err := c.closeSession(); err != nil {
		withdraw()
		c.refuse(err, true)
		return
	}
	h.o.Log.Info("a job of the registry runs on this server", "job", c.name, "module", c.job.config.ModuleDigest)
	r := h.newRunner(c.job, c.changed)
	h.mu.Lock()
	c.job.runner, c.job.fault = r, ""
	h.mu.Unlock()
	err := h.begin(ctx, c.job, func() {
		asked := ctx.Err() != nil
		c.removeRunner(asked)
		withdraw()
		c.settle() // it has not joined, and Ready may wait for it
		c.d.step(discovery.Ended{Name: c.name, Asked: asked})
	})
	if err != nil {
		withdraw()
		c.removeRunner(true)
		c.refuse(err, true)
		return
	}
	h.work.Go(func() {
		select {
		case <-r.Joined():
		case <-ctx.Done():
		}
		c.settle()
	})
}

// removeRunner removes the runner, which has ended. Unless the server asked for the end, the
// job was shut down here.
func (c *candidate) removeRunner(asked bool) {
	h := c.d.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.job.runner = nil; !asked {
		c.job.fault = errShut.Error()
	}
}

// changed receives each new configuration from the runner, and nil if the registry does
// not have the job any more.
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

// current returns the configuration that the host shows.
func (c *candidate) current() job.Config {
	c.d.h.mu.Lock()
	defer c.d.h.mu.Unlock()
	return *c.job.config
}

// end carries out discovery.Withdraw, and logs why.
func (c *candidate) end(e discovery.Withdraw) {
	switch log := c.d.h.o.Log; {
	case e.Removed:
		log.Info("the job is not in the registry any more", "job", c.name)
	case len(e.Blockers) > 0:
		log.Error("the job was changed so that this server may not run it any more", "job", c.name, "error", refusal(e.Blockers))
	}
	c.withdraw()
}

// refuse shows and logs why the job does not run here. With again, discovery tries again
// after a pause.
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

// leave carries out discovery.Hide.
func (c *candidate) leave(forget bool) {
	if c.hide(); forget {
		if err := c.closeSession(); err != nil {
			c.d.h.o.Log.Debug("the session of a job that is gone cannot be closed, so it ends with the server's", "job", c.name, "error", err)
		}
	}
	c.d.step(discovery.Hidden{Name: c.name})
}

// show adds the job to those of the host, or replaces its configuration.
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

// hide removes the job from those of the host.
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
