package finder

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
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

// candidate is a job that discovery has found in the registry. While it does not run here
// it has a job session, which reports changes. While it runs, its runner has one.
type candidate struct {
	f      *Finder
	name   string
	layout layout.Layout
	job    Job

	once    sync.Once
	settled chan struct{} // closed when it has joined or was first refused
	gone    chan struct{} // closed when it is forgotten

	// Guarded by the finder's mu:

	retry    *time.Timer
	withdraw context.CancelFunc // ends the current run; nil before the first

	// Used by one effect at a time, and by the loop of a running job:

	session *session.Job
	spelled layout.Layout // the layout of the definition that was last read
	kept    layout.Kept
	module  registry.Node
	config  job.Config // as last shown
}

// newCandidate returns the candidate with that name, of which nothing was read yet.
func newCandidate(f *Finder, name string) *candidate {
	return &candidate{
		f: f, name: name, layout: layout.NewJob(f.o.Namespace, name), job: f.o.Host.Found(name),
		settled: make(chan struct{}), gone: make(chan struct{}),
	}
}

// settle lets Await go on, since the candidate has joined or was refused.
func (c *candidate) settle() { c.once.Do(func() { close(c.settled) }) }

// Event implements session.Listener.
func (c *candidate) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
	case registry.Ended:
		c.f.step(discovery.SessionEnded{Name: c.name})
	case registry.Resumed:
		c.f.step(discovery.Touched{Name: c.name})
	case registry.Changed:
		config, module, members := c.layout.Nodes()
		ofMembers := e.Path == members || strings.HasPrefix(e.Path, members+"/")
		if ofMembers || e.Path == config || strings.HasPrefix(e.Path, config+"/") || e.Path == module { // a job that runs elsewhere changes many other nodes
			c.f.step(discovery.Touched{Name: c.name, Members: ofMembers})
		}
	}
}

// HealthChanged implements session.Listener.
func (c *candidate) HealthChanged(session.Health) {}

// look carries out discovery.Look.
func (c *candidate) look(anew bool) {
	err := c.readDefinition(anew)
	switch {
	case c.f.ctx.Err() != nil: // the server ends, so nothing is to be tried again
		c.f.step(discovery.Stop{})
		c.f.step(discovery.Refused{Name: c.name})
	case err != nil:
		c.refuse(err, true)
	default:
		c.f.step(discovery.Looked{Name: c.name, Config: c.kept.Config.Exists, Module: c.module.Exists, Created: c.kept.Config.Stat.Created})
	}
}

// readDefinition reads the nodes of the definition, and the job's own, which shows its
// layout. In layout 1 the configuration's keys are nodes of their own.
func (c *candidate) readDefinition(anew bool) error {
	select {
	case c.f.looks <- struct{}{}:
		defer func() { <-c.f.looks }()
	case <-c.f.ctx.Done():
		return c.f.ctx.Err()
	}
	if err := c.openSession(anew); err != nil {
		return err
	}
	config, module, _ := c.layout.Nodes()
	nodes, err := c.readNodes(c.layout.Root(), config, module)
	if err != nil {
		return err
	}
	c.kept, c.module = layout.Kept{Root: nodes[0], Config: nodes[1], Keys: map[string]registry.Node{}}, nodes[2]
	c.spelled = layout.By(c.f.o.Namespace, c.name, c.kept.Root, c.kept.Config)
	keys := c.spelled.Keys(c.kept.Config)
	if nodes, err = c.readNodes(keys...); err != nil {
		return err
	}
	for i, n := range nodes {
		if n.Exists {
			c.kept.Keys[path.Base(keys[i])] = n
		}
	}
	return nil
}

// openSession opens the job session unless it is open. With anew, it first closes an open one.
func (c *candidate) openSession(anew bool) error {
	if anew {
		if err := c.closeSession(); err != nil {
			return err
		}
	}
	if c.session != nil {
		return nil
	}
	s, err := c.f.o.Sessions.Open(c.f.ctx, c.layout.Root(), c)
	c.session = s
	return err
}

// closeSession closes the job session if one is open.
func (c *candidate) closeSession() error {
	if c.session == nil {
		return nil
	}
	if err := c.session.Close(c.f.ctx); err != nil {
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
		c.session.Fetch(c.f.ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			if nodes[i] = n; err != nil {
				faults[i] = fmt.Errorf("read %s: %w", path, err)
			}
		})
	}
	reads.Wait()
	return nodes, errors.Join(faults...)
}

// try carries out discovery.Try: it checks whether this server may run the job, and loads
// its code.
func (c *candidate) try() {
	d, err := c.spelled.ReadDefinition(c.kept, c.module)
	if err != nil {
		c.refuse(err, false)
		return
	}
	c.show(d.Job(job.Config{}))
	// Foreign members are not among the facts: the runner checks for those.
	facts, _ := layout.AdmissionFacts(c.spelled, nil, d.Config, &d.Module, false)
	facts.Unable = c.f.o.Host.Unable(c.config)
	if v := admission.Decide(&facts); v.Barred() {
		c.refuse(admission.Refusal(v.Blockers), false)
		return
	}
	if again, err := c.job.Load(c.f.ctx, c.config); err != nil {
		c.refuse(err, again)
		return
	}
	c.f.step(discovery.Fits{Name: c.name})
}

// show lists the job with this configuration, which later ones are compared with.
func (c *candidate) show(config job.Config) {
	c.config = config
	c.job.Show(config)
}

// start carries out discovery.Start. The job runs until ctx ends or an operator shuts it
// down here.
func (c *candidate) start(ctx context.Context, withdraw context.CancelFunc) {
	if err := c.closeSession(); err != nil { // the runner opens its own
		withdraw()
		c.refuse(err, true)
		return
	}
	c.f.o.Log.Info("a job of the registry runs on this server", "job", c.name, "module", c.config.ModuleDigest)
	joined, err := c.job.Start(ctx, c.changed, func(asked bool) { // when it has ended
		withdraw()
		c.settle() // it has not joined, but Await may wait for it
		c.f.step(discovery.Ended{Name: c.name, Asked: asked})
	})
	if err != nil {
		withdraw()
		c.refuse(err, true)
		return
	}
	c.f.o.Go(func() {
		select {
		case <-joined:
		case <-ctx.Done():
		}
		c.settle()
	})
}

// changed receives each new configuration of a running job, or nil if the registry no
// longer has the job.
func (c *candidate) changed(now *job.Config) {
	in := discovery.Changed{Name: c.name, Removed: now == nil}
	if now != nil {
		in.Same = reflect.DeepEqual(c.config, *now)
		c.show(*now)
	}
	if now != nil && !in.Same {
		in.Blockers = c.f.o.Host.Unable(*now)
	}
	c.f.step(in)
}

// end carries out discovery.Withdraw, and logs the reason.
func (c *candidate) end(e discovery.Withdraw) {
	switch log := c.f.o.Log; {
	case e.Removed:
		log.Info("the job is no longer in the registry", "job", c.name)
	case len(e.Blockers) > 0:
		log.Error("the job was changed so that this server may no longer run it", "job", c.name, "error", admission.Refusal(e.Blockers))
	}
	c.withdraw()
}

// refuse shows why the job does not run here. With again, discovery retries after a
// pause.
func (c *candidate) refuse(err error, again bool) {
	c.job.Refuse(err)
	c.f.step(discovery.Refused{Name: c.name, Again: again})
}

// leave carries out discovery.Hide.
func (c *candidate) leave(forget bool) {
	if c.job.Hide(); forget {
		if err := c.closeSession(); err != nil {
			c.f.o.Log.Debug("the session of a job that is gone cannot be closed, so it ends with the server's", "job", c.name, "error", err)
		}
	}
	c.f.step(discovery.Hidden{Name: c.name})
}
