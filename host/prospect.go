package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// prospect is a job that was found in the registry. While it does not run here,
// it has a line, by which it hears of changes; while it runs, its runner has.
type prospect struct {
	s      *scout
	name   string
	layout layout.Layout

	settle  sync.Once
	settled chan struct{} // closed when it was looked at, and has joined if it may
	buried  chan struct{} // closed when nothing of it is left

	// Guarded by the scout's mu:

	errand   errand
	there    bool // among the names that were listed last
	lost     bool // the session of the line has ended
	running  bool
	shut     bool // an operator shut it down here: as long as it is the same job, it stays so
	dead     bool // it is gone; if there is such a job again, another prospect has it
	lacks    bool // its module, which a new member may have
	patience pause
	yields   bool               // the server's own file has the job now
	withdraw context.CancelFunc // ends the job here; nil: it has never run

	// Of the errand:

	line *session.Job
	job  *hosted
	made int64 // of a job that was shut down: when its configuration was created; 0: not known yet
}

// errShut is why a job does not run that was shut down here.
var errShut = errors.New("it was shut down on this server")

func newProspect(s *scout, name string) *prospect {
	return &prospect{s: s, name: name, layout: layout.NewJob(s.h.o.Namespace, name), settled: make(chan struct{}), buried: make(chan struct{})}
}

// Event implements session.Listener.
func (p *prospect) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
		return
	case registry.Ended:
		p.s.mu.Lock()
		p.lost = true
		p.s.mu.Unlock()
	case registry.Changed:
		if !p.concerns(e.Path) {
			return
		}
	case registry.Resumed:
	}
	p.stir()
}

// concerns tells whether a change may be what the prospect waits for. Of what
// others do with the job there is much more.
func (p *prospect) concerns(path string) bool {
	config, module, members := p.layout.Nodes()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return path == config || path == module || p.lacks && (path == members || strings.HasPrefix(path, members+"/"))
}

// Doubted implements session.Listener.
func (p *prospect) HealthChanged(session.Health) {}

func (p *prospect) stir() { p.s.run(&p.errand, p.look) }

// look reads what the registry says of the job, and lets it run if this server
// may and can run it. Else it waits for something to change.
func (p *prospect) look() {
	p.s.mu.Lock()
	rests, yields := p.running || p.dead, p.yields
	p.dead = p.dead || yields && !rests
	p.s.mu.Unlock()
	if rests {
		return
	}
	if yields {
		p.bury()
		return
	}
	config, module, err := p.read()
	switch {
	case p.s.ctx.Err() != nil:
	case err != nil:
		p.refuse(err, true)
	case !config.Exists && !module.Exists && p.gone():
	case !config.Exists || !module.Exists: // nobody has said what it is, or somebody of ElasticJob alone
		p.hide()
		if !config.Exists && !module.Exists {
			p.unshut()
		}
		p.settle.Do(func() { close(p.settled) })
	case p.stays(config):
		p.refuse(errShut, false)
	default:
		p.try(config, module)
	}
}

// read reads both nodes of the definition. Of later changes the line tells.
func (p *prospect) read() (config, module registry.Node, err error) {
	select {
	case p.s.looks <- struct{}{}:
		defer func() { <-p.s.looks }()
	case <-p.s.ctx.Done():
		return config, module, p.s.ctx.Err()
	}
	if err := p.connect(); err != nil {
		return config, module, err
	}
	at, beside, _ := p.layout.Nodes()
	nodes, err := p.fetch(at, beside)
	if err != nil {
		return config, module, err
	}
	return nodes[0], nodes[1], nil
}

// fetch reads nodes.
func (p *prospect) fetch(paths ...string) ([]registry.Node, error) {
	nodes, faults := make([]registry.Node, len(paths)), make([]error, len(paths))
	var reads sync.WaitGroup
	for i, path := range paths {
		reads.Add(1)
		p.line.Fetch(p.s.ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			if nodes[i] = n; err != nil {
				faults[i] = fmt.Errorf("read %s: %w", path, err)
			}
		})
	}
	reads.Wait()
	return nodes, errors.Join(faults...)
}

// connect gives the prospect a line, in a new session if need be.
func (p *prospect) connect() error {
	p.s.mu.Lock()
	lost := p.lost
	p.lost = false
	p.s.mu.Unlock()
	if lost {
		if err := p.hangUp(); err != nil {
			return err
		}
	}
	if p.line != nil {
		return nil
	}
	line, err := p.s.h.sessions.Open(p.s.ctx, p.layout.Root(), p)
	p.line = line
	return err
}

func (p *prospect) hangUp() error {
	if p.line == nil {
		return nil
	}
	if err := p.line.Close(p.s.ctx); err != nil {
		return fmt.Errorf("close a line of the registry: %w", err)
	}
	p.line = nil
	return nil
}

// stays tells whether the job was shut down here, and is still the same one.
func (p *prospect) stays(config registry.Node) bool {
	p.s.mu.Lock()
	shut := p.shut
	p.s.mu.Unlock()
	switch {
	case !shut:
		return false
	case p.made == 0:
		p.made = config.Stat.Created
	case p.made != config.Stat.Created:
		p.unshut()
		return false
	}
	return true
}

// unshut forgets that the job was shut down here: there is another one.
func (p *prospect) unshut() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.shut, p.made = false, 0
}

// gone forgets the job if it is not in the list any more. Only when nothing is
// left of the prospect may another one take its place.
func (p *prospect) gone() bool {
	p.s.mu.Lock()
	p.dead = !p.there
	dead := p.dead
	if dead {
		p.patience.stop()
	}
	p.s.mu.Unlock()
	if !dead {
		return false
	}
	p.bury()
	return true
}

// try lets the job run if this server may and can run it.
func (p *prospect) try(config, module registry.Node) {
	h := p.s.h
	d, err := p.layout.ReadDefinition(config, module)
	if err != nil {
		p.refuse(err, false)
		return
	}
	c := d.Job(job.Config{})
	p.show(c)
	if v := admission.Decide(p.facts(&d, c)); v.Barred() {
		p.refuse(refusal(v.Blockers), false)
		return
	}
	p.s.mu.Lock()
	p.lacks = true // from before the members are asked who has it
	p.s.mu.Unlock()
	k, err := p.job.code.equip(p.s.ctx, c)
	if err != nil {
		_, elsewhere := errors.AsType[*fetchError](err)
		p.refuse(err, elsewhere || ofTheSystem(err))
		return
	}
	k.release()
	if err := p.hangUp(); err != nil {
		p.refuse(err, true)
		return
	}
	h.o.Log.Info("a job of the registry runs on this server", "job", p.name, "module", c.ModuleDigest)
	p.run()
}

// facts are those of a server that is about to join. Of members of ElasticJob the
// runner finds out.
func (p *prospect) facts(d *definition.Definition, c job.Config) *admission.Facts {
	f, _ := layout.AdmissionFacts(p.layout, nil, d.Config, &d.Module, false)
	f.Unable = p.s.h.o.Unable(c, nil)
	return &f
}

// run lets the job run until it is over here.
func (p *prospect) run() {
	h := p.s.h
	ctx, cancel := context.WithCancel(p.s.ctx)
	r := h.runnerOf(p.job, func(now *job.Config) { p.changed(now, cancel) })
	h.mu.Lock()
	p.job.runner, p.job.fault = r, ""
	h.mu.Unlock()
	p.s.mu.Lock()
	p.patience.stop()
	p.running, p.lacks, p.patience, p.withdraw = true, false, pause{}, cancel
	if p.yields {
		cancel() // it was told meanwhile
	}
	p.s.mu.Unlock()
	err := h.begin(ctx, p.job, func() { // somebody of the runner's still waits for this
		p.rest(ctx.Err() == nil)
		cancel()
		p.settle.Do(func() { close(p.settled) })
		p.stir()
	})
	if err != nil {
		cancel()
		p.rest(false)
		p.refuse(err, true)
		return
	}
	h.at.Go(func() {
		select {
		case <-r.Joined():
		case <-ctx.Done():
		}
		p.settle.Do(func() { close(p.settled) })
	})
}

// rest is that the job does not run any more; if nobody withdrew it, it was shut
// down here.
func (p *prospect) rest(shut bool) {
	h := p.s.h
	h.mu.Lock()
	if p.job.runner = nil; shut {
		p.job.fault = errShut.Error()
	}
	h.mu.Unlock()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.running, p.shut = false, shut
}

// changed is told, by the runner, how the job is now.
func (p *prospect) changed(now *job.Config, withdraw context.CancelFunc) {
	h := p.s.h
	if now == nil {
		h.o.Log.Info("the job is not in the registry any more", "job", p.name)
		withdraw()
		return
	}
	h.mu.Lock()
	same := reflect.DeepEqual(*p.job.config, *now)
	p.job.config = now
	h.mu.Unlock()
	if same {
		return
	}
	if all := h.o.Unable(*now, nil); len(all) > 0 {
		h.o.Log.Error("the job was changed so that this server may not run it any more", "job", p.name, "error", refusal(all))
		withdraw() // and the next look tells why
		return
	}
	h.prefetch(p.s, p.job, *now)
}

// refuse says why the job does not run here. It is looked at again when something
// changes and, if that may help, after a while.
func (p *prospect) refuse(err error, again bool) {
	h := p.s.h
	if p.job == nil {
		p.show(job.Config{Name: p.name})
	}
	h.mu.Lock()
	news := p.job.fault != err.Error()
	p.job.fault = err.Error()
	h.mu.Unlock()
	if news {
		h.o.Log.Warn("a job of the registry does not run on this server", "job", p.name, "error", err)
	}
	p.s.mu.Lock()
	if p.lacks = again; again && !p.s.closed {
		p.patience.after(p.stir)
	}
	p.s.mu.Unlock()
	p.settle.Do(func() { close(p.settled) })
}

// show puts the job among those of the host.
func (p *prospect) show(c job.Config) {
	h := p.s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.job != nil {
		p.job.config = &c
		return
	}
	p.job = &hosted{config: &c, found: true, code: newCode(&h.o, h.library, nil)}
	p.job.code.peers = p.s.peersOf(p.name)
	own := h.owned()
	at, _ := slices.BinarySearchFunc(h.jobs[own:], c.Name, func(j *hosted, name string) int { return strings.Compare(j.config.Name, name) })
	h.jobs = slices.Insert(h.jobs, own+at, p.job)
}

// hide takes the job from those of the host.
func (p *prospect) hide() {
	if p.job == nil {
		return
	}
	h := p.s.h
	h.mu.Lock()
	h.jobs = slices.DeleteFunc(h.jobs, func(j *hosted) bool { return j == p.job })
	h.mu.Unlock()
	p.job.code.close()
	p.job = nil
}

// prefetch gets what a changed job needs before the next run does.
func (h *Host) prefetch(s *scout, j *hosted, c job.Config) {
	if j.code.holds(c) {
		j.code.tell(nil)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	h.at.Go(func() {
		k, err := j.code.equip(s.ctx, c)
		if err != nil {
			h.o.Log.Error("the job cannot run here as it is now", "job", c.Name, "error", err)
			return
		}
		k.release()
	})
}
