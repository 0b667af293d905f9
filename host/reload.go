package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
)

// Reloaded is what became of the jobs of the server's own file, by name, ascending.
type Reloaded struct {
	Added, Changed, Removed []string
	Kept                    int // how many are as they were
}

// Reload has the host go by other jobs and modules than those of its Options, as if
// it had been started with them; the files of modules are read again, too. A job
// that is there no more drains and leaves this server, and may be found in the
// registry then; what changed in a job is brought there as at a start, while its
// runs go on. All else of the Options stays. Reload returns when all of that has
// begun; no job waits for another one's drain.
//
// What would keep a new job, or one that changed, from running here is an error, as
// is all that New refuses. All of it is told together, and then nothing has changed.
func (h *Host) Reload(ctx context.Context, jobs []job.Config, modules map[string]Module) (Reloaded, error) {
	select {
	case <-h.working:
	case <-ctx.Done():
		return Reloaded{}, failf(Unavailable, ctx.Err(), "the host does not run")
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	n := next{h: h, o: h.o}
	n.o.Jobs, n.o.Modules = jobs, maps.Clone(modules)
	n.o = n.o.WithDefaults()
	if err := n.o.validate(); err != nil {
		return Reloaded{}, failf(Invalid, err, "options of the host")
	}
	defer n.release()
	if err := n.compare(ctx); err != nil {
		return Reloaded{}, err
	}
	n.apply()
	return n.told, nil
}

// next is what the host is to go by.
type next struct {
	h     *Host
	o     Options // with other jobs and modules
	names map[string]named
	told  Reloaded

	withdrawn, admitted []*hosted
	changed             []change
	tried               []*code // hold what jobs that changed need
}

// change is a job with what is to take the place of its configuration.
type change struct {
	j  *hosted
	to *job.Config
}

// compare finds out what is otherwise, and whether it can run.
func (n *next) compare(ctx context.Context) error {
	n.readModules()
	there, err := n.h.ownJobs(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for i := range n.o.Jobs {
		c := &n.o.Jobs[i]
		j, known := there[c.Name]
		delete(there, c.Name)
		if known && j.same(n.h, c) {
			n.told.Kept++
			continue
		}
		if err := n.try(ctx, j, c); err != nil {
			faults = append(faults, fmt.Errorf("job %s: %w", c.Name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		n.told.Removed = append(n.told.Removed, name)
		n.withdrawn = append(n.withdrawn, there[name])
	}
	if err := errors.Join(faults...); err != nil {
		return failf(Invalid, err, "jobs that are new or have changed")
	}
	return nil
}

// readModules reads the files of the modules that jobs name, and gives the jobs
// their digests.
func (n *next) readModules() {
	n.names = map[string]named{}
	if n.h.library == nil {
		return
	}
	digest := func(name string) string {
		m, ok := n.o.Modules[name]
		if !ok {
			return "" // the job names none
		}
		if _, known := n.names[name]; !known {
			n.names[name] = n.h.library.readFile(name, m)
		}
		if r := n.names[name]; r.err == nil {
			return r.digest
		}
		return m.pin()
	}
	for i := range n.o.Jobs {
		c := &n.o.Jobs[i]
		c.ModuleDigest, c.StrategyDigest = digest(c.Module), digest(c.StrategyModule)
	}
}

// ownJobs are the jobs of the server's own file, all of which have begun to run, or
// to wait for the end of an earlier job of the same name.
func (h *Host) ownJobs(ctx context.Context) (map[string]*hosted, error) {
	h.mu.Lock()
	own := slices.Clone(h.jobs[:h.owned()])
	h.mu.Unlock()
	jobs := map[string]*hosted{}
	for _, j := range own {
		select {
		case <-j.tried:
		case <-ctx.Done():
			return nil, failf(Unavailable, ctx.Err(), "wait for the modules of job %s", j.config.Name)
		}
		if !j.leaves { // only Reload changes that
			jobs[j.config.Name] = j
		}
	}
	return jobs, nil
}

// owned is how many jobs of the server's own file there are. It is called with mu
// held.
func (h *Host) owned() int {
	n := slices.IndexFunc(h.jobs, func(j *hosted) bool { return j.found })
	if n < 0 {
		return len(h.jobs)
	}
	return n
}

// same tells whether a job is as the file has it now.
func (j *hosted) same(h *Host, c *job.Config) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return reflect.DeepEqual(*j.config, *c)
}

// try loads what a job needs that is new, or is to take the place of j, and tells
// why no run of it could begin.
func (n *next) try(ctx context.Context, j *hosted, c *job.Config) error {
	k := newCode(&n.h.o, n.h.library, c)
	k.peers = n.h.scout.peersOf(c.Name)
	n.tried = append(n.tried, k)
	for name, digest := range map[string]string{c.Module: c.ModuleDigest, c.StrategyModule: c.StrategyDigest} {
		if digest == "" && n.names[name].err != nil {
			return n.names[name].err
		}
	}
	if err := k.fits(ctx, *c); err != nil {
		return err
	}
	if j != nil {
		n.told.Changed = append(n.told.Changed, c.Name)
	} else {
		n.told.Added = append(n.told.Added, c.Name)
	}
	if j != nil && !j.ended() {
		n.changed = append(n.changed, change{j, c})
		return nil
	}
	if j != nil { // an operator has shut it down here; a start lets it run again
		n.withdrawn = append(n.withdrawn, j)
	}
	fresh := newHosted(c)
	fresh.code = k
	close(fresh.tried)
	n.admitted = append(n.admitted, fresh)
	return nil
}

// ended tells whether a job of the server's own file runs no more.
func (j *hosted) ended() bool {
	select {
	case <-j.left:
		return true
	default:
		return false
	}
}

// release lets go of what was tried.
func (n *next) release() {
	for _, k := range n.tried {
		k.close()
	}
}

// apply has the host go by it.
func (n *next) apply() {
	h := n.h
	if h.library != nil {
		h.library.replace(n.o.Modules, n.names)
	}
	for _, told := range []struct {
		what string
		jobs []string
	}{{"a job was added", n.told.Added}, {"a job was changed", n.told.Changed}, {"a job was removed", n.told.Removed}} {
		slices.Sort(told.jobs)
		for _, name := range told.jobs {
			h.o.Log.Info(told.what+" in the configuration", "job", name) //nolint:sloglint // three of one kind
		}
	}
	for _, j := range n.withdrawn {
		h.withdraw(j)
	}
	for _, c := range n.changed {
		h.change(c.j, c.to)
	}
	for _, j := range n.admitted {
		n.tried = slices.DeleteFunc(n.tried, func(k *code) bool { return k == j.code })
		h.admit(j)
	}
}

// withdraw lets a job drain and leave this server.
func (h *Host) withdraw(j *hosted) {
	h.mu.Lock()
	j.leaves = true
	h.mu.Unlock()
	j.leave()
	h.scout.beside(func() {
		<-j.left
		h.forget(j)
	})
}

// forget takes a job that has left from those of the host. The registry may have it
// still, and then it is found there.
func (h *Host) forget(j *hosted) {
	j.code.close()
	h.mu.Lock()
	h.jobs = slices.DeleteFunc(h.jobs, func(o *hosted) bool { return o == j })
	h.mu.Unlock()
	h.scout.mu.Lock()
	delete(h.files, j.config.Name)
	h.scout.mu.Unlock()
	close(j.gone)
	h.scout.stir()
}

// admit lets a new job run, after one of the same name that still leaves, or that
// was found in the registry.
func (h *Host) admit(j *hosted) {
	name := j.config.Name
	h.mu.Lock()
	own := h.jobs[:h.owned()]
	var before *hosted
	for _, o := range own {
		if o.config.Name == name {
			before = o // the newest
		}
	}
	h.jobs = slices.Insert(h.jobs, len(own), j)
	j.live(h.scout.ctx)
	h.mu.Unlock()
	h.scout.beside(func() {
		if before != nil {
			<-before.gone
		}
		h.scout.yield(name)
		h.applied.read(name)
		h.monitor(j)
		h.beginOwn(j, h.scout)
	})
}

// change has a job go by another configuration.
func (h *Host) change(j *hosted, to *job.Config) {
	h.mu.Lock()
	old, r := *j.config, j.runner
	j.config = to
	h.mu.Unlock()
	j.code.redefine(to)
	if r != nil {
		r.Redefine(to) // else it begins with that
	}
	if old.MonitorPort != to.MonitorPort {
		h.o.Log.Warn("it was changed and needs a restart, the old value stays", "key", "jobs."+to.Name+".monitor_port")
	}
	if to.StrategyModule != "" && to.StrategyDigest != old.StrategyDigest {
		h.scout.beside(func() { j.code.try(j.ctx, *to) })
	}
}
