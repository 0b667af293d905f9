package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
)

// edit is one change of the jobs and modules of a host that runs. It is prepared
// beside the jobs that run; once nothing of it can fail any more, it is applied.
type edit struct {
	h     *Host
	own   map[string]*hosted // the host's own jobs before, without those that leave
	o     Options            // Jobs: those that are put; Modules: all that are there afterwards
	files *supply.Catalog    // the same modules; nil: a Runner runs all jobs
	told  Reloaded

	withdrawn, admitted []*hosted
	kept                []*hosted
	changed             []change
	tried               []*supply.Code // hold what jobs that changed need
	give                []func()       // gives back what else is held
}

// change is a job with what is to take the place of its configuration.
type change struct {
	j  *hosted
	to *job.Config
}

// edit changes what the host runs, one edit after the other: plan says what is to
// change, and then all of it happens, or nothing. what is the request, for errors.
func (h *Host) edit(ctx context.Context, what string, plan func(context.Context, *edit) error) (*edit, error) {
	free, err := h.beginEdit(ctx, what)
	if err != nil {
		return nil, err
	}
	defer free()
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.discovery.ctx, cancel)() // Run waits for the end of this
	e := h.newEdit()
	defer e.release()
	if err = plan(during, e); err == nil {
		err = e.prepare(during)
	}
	known, coded := errors.AsType[*Error](err)
	switch {
	case during.Err() != nil:
		return nil, failf(Unavailable, during.Err(), "%s: it was given up, and nothing has changed", what)
	case coded:
		return nil, failf(known.Code, err, "%s", what)
	case ofTheSystem(err):
		return nil, failf(Internal, err, "%s", what) // another time it may work
	case err != nil:
		return nil, failf(Invalid, err, "%s", what)
	}
	e.apply()
	return e, nil
}

// beginEdit waits until the host runs and nobody else changes it.
func (h *Host) beginEdit(ctx context.Context, what string) (free func(), err error) {
	ended := failf(Unavailable, nil, "%s: the host runs no more", what)
	select {
	case <-h.working:
	case <-h.over:
		return nil, ended
	case <-ctx.Done():
		return nil, failf(Unavailable, ctx.Err(), "%s: the host does not run yet", what)
	}
	select {
	case h.editing <- struct{}{}:
	case <-h.over: // which keeps the place
		return nil, ended
	case <-ctx.Done():
		return nil, failf(Unavailable, ctx.Err(), "%s: something else is being changed", what)
	}
	if h.discovery.ctx.Err() != nil {
		<-h.editing
		return nil, ended
	}
	return func() { <-h.editing }, nil
}

// newEdit is one that changes nothing.
func (h *Host) newEdit() *edit {
	e := &edit{h: h, own: map[string]*hosted{}, o: h.o}
	h.mu.Lock()
	for _, j := range h.jobs[:h.owned()] {
		if !j.leaves {
			e.own[j.config.Name] = j
		}
	}
	h.mu.Unlock()
	e.o.Jobs, e.o.Modules = nil, maps.Clone(h.o.Modules)
	if h.o.Runner == nil {
		e.files, e.o.Modules = h.store.Catalog(), map[string]Module{}
		for name, f := range e.files.Files() {
			e.o.Modules[name] = Module(f)
		}
	}
	return e
}

// prepare finds out what is otherwise, and whether it can run.
func (e *edit) prepare(ctx context.Context) error {
	e.o = e.o.WithDefaults()
	if err := e.o.validate(); err != nil {
		return err
	}
	e.readModules()
	var faults []error
	for i := range e.o.Jobs {
		c := &e.o.Jobs[i]
		j := e.own[c.Name]
		if j != nil {
			if err := j.wait(ctx); err != nil {
				return err
			}
			if j.same(e.h, c) {
				e.told.Kept++
				e.kept = append(e.kept, j)
				continue
			}
		}
		if err := e.try(ctx, j, c); err != nil {
			faults = append(faults, fmt.Errorf("job %s: %w", c.Name, err))
		}
	}
	for _, j := range e.withdrawn {
		if err := j.wait(ctx); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}

// readModules reads the files of the modules that jobs name, and gives the jobs
// their digests.
func (e *edit) readModules() {
	if e.files == nil {
		return
	}
	for i := range e.o.Jobs {
		c := &e.o.Jobs[i]
		c.ModuleDigest, c.StrategyDigest = e.files.Expected(c.Module), e.files.Expected(c.StrategyModule)
	}
}

// put adds a module, or puts another in its place.
func (e *edit) put(name string, m Module) {
	e.o.Modules[name] = m
	e.files.Put(name, supply.File(m))
}

// load compiles a module, and holds it until the end of the edit.
func (e *edit) load(ctx context.Context, name string) error {
	digest, err := e.files.Digest(name)
	if err != nil {
		return err
	}
	release, err := e.h.store.Hold(ctx, digest)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	e.give = append(e.give, release)
	return nil
}

// users are the host's own jobs whose configuration names a module, by name.
func (e *edit) users(module string) (jobs []job.Config) {
	e.h.mu.Lock()
	defer e.h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.own)) {
		if c := e.own[name].config; c.Module == module || c.StrategyModule == module {
			jobs = append(jobs, *c)
		}
	}
	return jobs
}

// remove has a job of the host's own leave.
func (e *edit) remove(name string) {
	e.told.Removed = append(e.told.Removed, name)
	e.withdrawn = append(e.withdrawn, e.own[name])
}

// wait returns when the module of a job was loaded, or could not be.
func (j *hosted) wait(ctx context.Context) error {
	select {
	case <-j.loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
func (e *edit) try(ctx context.Context, j *hosted, c *job.Config) error {
	k := e.h.store.NewCode(c)
	k.SetPeers(e.h.discovery.peersOf(c.Name))
	e.tried = append(e.tried, k)
	for name, digest := range map[string]string{c.Module: c.ModuleDigest, c.StrategyModule: c.StrategyDigest} {
		if e.files == nil || name == "" || digest != "" {
			continue
		}
		if _, err := e.files.Digest(name); err != nil {
			return err
		}
	}
	if err := k.Check(ctx, *c); err != nil {
		return err
	}
	if j != nil {
		e.told.Changed = append(e.told.Changed, c.Name)
	} else {
		e.told.Added = append(e.told.Added, c.Name)
	}
	if j != nil && !j.ended() {
		e.changed = append(e.changed, change{j, c})
		return nil
	}
	if j != nil { // an operator has shut it down here; a start lets it run again
		e.withdrawn = append(e.withdrawn, j)
	}
	fresh := newHosted(c)
	fresh.code = k
	close(fresh.loaded)
	e.admitted = append(e.admitted, fresh)
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
func (e *edit) release() {
	for _, k := range e.tried {
		k.Close()
	}
	for _, give := range e.give {
		give()
	}
}

// apply has the host go by it.
func (e *edit) apply() {
	h := e.h
	if e.files != nil {
		h.store.SetCatalog(e.files)
	}
	for _, told := range []struct {
		what string
		jobs []string
	}{{"a job was added", e.told.Added}, {"a job was changed", e.told.Changed}, {"a job was removed", e.told.Removed}} {
		slices.Sort(told.jobs)
		for _, name := range told.jobs {
			h.o.Log.Info(told.what, "job", name) //nolint:sloglint // three of one kind
		}
	}
	for _, j := range e.withdrawn {
		h.withdraw(j)
	}
	stay := e.kept
	for _, c := range e.changed {
		h.change(c.j, c.to)
		stay = append(stay, c.j)
	}
	e.needRestart(stay)
	for _, j := range e.admitted {
		e.tried = slices.DeleteFunc(e.tried, func(k *supply.Code) bool { return k == j.code })
		h.admit(j)
	}
}

// needRestart tells which settings of jobs were changed since they came, and stay as
// they were then.
func (e *edit) needRestart(jobs []*hosted) {
	h := e.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range jobs {
		for s := range job.Settings() {
			if s.Change == job.AfterStart && !reflect.DeepEqual(s.Field(j.first), s.Field(j.config)) {
				e.told.NeedRestart = append(e.told.NeedRestart, "jobs."+j.config.Name+"."+s.Name)
			}
		}
	}
	slices.Sort(e.told.NeedRestart)
	for _, key := range e.told.NeedRestart {
		h.o.Log.Warn("it was changed and needs a restart, the old value stays", "key", key)
	}
}

// withdraw lets a job drain and leave this server.
func (h *Host) withdraw(j *hosted) {
	h.mu.Lock()
	j.leaves = true
	h.mu.Unlock()
	j.leave()
	h.discovery.alongside(func() {
		<-j.left
		h.forget(j)
	})
}

// forget takes a job that has left from those of the host. The registry may have it
// still, and then it is found there.
func (h *Host) forget(j *hosted) {
	j.code.Close()
	h.mu.Lock()
	h.jobs = slices.DeleteFunc(h.jobs, func(o *hosted) bool { return o == j })
	h.mu.Unlock()
	h.discovery.fileLost(j.config.Name) // before an edit may say that the file has it
	close(j.gone)
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
	j.setContext(h.discovery.ctx)
	h.mu.Unlock()
	h.discovery.alongside(func() {
		if before != nil {
			<-before.gone
		}
		h.discovery.fileHas(name)
		h.applied.read(name)
		h.monitor(j)
		h.beginOwn(j)
		close(j.begun)
	})
}

// change has a job go by another configuration.
func (h *Host) change(j *hosted, to *job.Config) {
	h.mu.Lock()
	old, r := *j.config, j.runner
	j.config = to
	h.mu.Unlock()
	j.code.Redefine(to)
	if r != nil {
		r.Redefine(to) // else it begins with that
	}
	if to.StrategyModule != "" && to.StrategyDigest != old.StrategyDigest {
		h.discovery.alongside(func() { j.code.CheckStrategy(j.ctx, *to) })
	}
}
