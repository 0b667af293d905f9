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

// edit is one change of the jobs and modules of a running host. It is prepared while jobs run,
// and applied once no part of it can fail any more.
type edit struct {
	h      *Host
	own    map[string]*hosted // the host's own jobs before the edit, without those that are leaving
	o      Options            // Jobs: those that the edit puts; Modules: all modules after it
	files  *supply.Catalog    // the same modules; nil if a Runner runs all jobs
	result Reloaded
	dry    bool // only prepare it

	withdrawn, admitted []*hosted      // jobs that leave, and jobs that begin
	changed             []change       // jobs that go on with another configuration
	tried               []*supply.Code // code of new and changed jobs, held until the edit ends
	give                []func()       // release the modules that the edit holds
}

// change is a job with its new configuration.
type change struct {
	j  *hosted
	to *job.Config
}

// edit changes what the host runs; edits happen one at a time. plan fills in the edit, which
// then happens completely or not at all. what names the request in errors. An error says the
// code of a known *Error; a fault of the system is Internal, and any other fault Invalid.
func (h *Host) edit(ctx context.Context, what string, plan func(context.Context, *edit) error) (*edit, error) {
	free, err := h.beginEdit(ctx, what)
	if err != nil {
		return nil, err
	}
	defer free()
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.running, cancel)() // Run waits for the edit, so the end of Run cancels it
	e := h.newEdit()
	defer e.release()
	if err = plan(during, e); err == nil {
		err = e.prepare(during)
	}
	known, coded := errors.AsType[*Error](err)
	switch {
	case during.Err() != nil: // whatever err is, since the end of ctx may have caused it
		return nil, failf(Unavailable, during.Err(), "%s: cancelled; nothing has changed", what)
	case coded:
		return nil, failf(known.Code, err, "%s", what)
	case isSystemError(err):
		return nil, failf(Internal, err, "%s", what) // a new attempt may succeed
	case err != nil:
		return nil, failf(Invalid, err, "%s", what)
	}
	if !e.dry {
		e.apply()
	}
	return e, nil
}

// beginEdit waits until the host runs and no other edit is in progress. The caller calls free
// when its edit has ended. what names the request in errors.
func (h *Host) beginEdit(ctx context.Context, what string) (free func(), err error) {
	ended := failf(Unavailable, nil, "%s: the host has stopped", what)
	select {
	case <-h.working:
	case <-h.over:
		return nil, ended
	case <-ctx.Done():
		return nil, failf(Unavailable, ctx.Err(), "%s: the host is not running yet", what)
	}
	select {
	case h.editing <- struct{}{}:
	case <-h.over: // Run itself has taken the place, and keeps it
		return nil, ended
	case <-ctx.Done():
		return nil, failf(Unavailable, ctx.Err(), "%s: another change is in progress", what)
	}
	if h.running.Err() != nil {
		<-h.editing
		return nil, ended
	}
	return func() { <-h.editing }, nil
}

// newEdit returns an edit without changes: it puts no job, and its modules are those that the
// host has.
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

// prepare determines which jobs are new or changed, and whether they can run.
func (e *edit) prepare(ctx context.Context) error {
	e.o = e.o.WithDefaults()
	if err := e.o.validate(); err != nil {
		return err
	}
	e.readModules(ctx)
	var faults []error
	for i := range e.o.Jobs {
		c := &e.o.Jobs[i]
		j := e.own[c.Name]
		if j != nil { // the digests in its configuration are set once its module is loaded
			if err := j.wait(ctx); err != nil {
				return err
			}
			if j.same(e.h, c) {
				e.result.Kept++
				continue
			}
		}
		if err := e.try(ctx, j, c); err != nil {
			faults = append(faults, fmt.Errorf("job %s: %w", c.Name, err))
		}
	}
	for _, j := range e.withdrawn { // a job leaves only after it has begun, which it does when its code is loaded
		if err := j.wait(ctx); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}

// readModules reads the module files that the edit's jobs name, and sets the jobs' digests. A
// digest of a file that cannot be read is the one that the configuration requires, or empty.
func (e *edit) readModules(ctx context.Context) {
	if e.files == nil {
		return
	}
	for i := range e.o.Jobs {
		c := &e.o.Jobs[i]
		c.ModuleDigest, c.StrategyDigest = e.files.Expected(ctx, c.Module), e.files.Expected(ctx, c.StrategyModule)
	}
}

// put adds or replaces a module.
func (e *edit) put(name string, m Module) {
	e.o.Modules[name] = m
	e.files.Put(name, supply.File(m))
}

// load compiles a module and holds it until the edit ends.
func (e *edit) load(ctx context.Context, name string) error {
	digest, err := e.files.Digest(ctx, name)
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

// users returns the host's own jobs that name a module, ordered by name.
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

// remove makes one of the host's own jobs leave.
func (e *edit) remove(name string) {
	e.result.Removed = append(e.result.Removed, name)
	e.withdrawn = append(e.withdrawn, e.own[name])
}

// wait returns when the module of a job is loaded or refused, or with an error if ctx ends.
func (j *hosted) wait(ctx context.Context) error {
	select {
	case <-j.loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// owned returns the number of the host's own jobs, which come first in h.jobs. mu must be held.
func (h *Host) owned() int {
	n := slices.IndexFunc(h.jobs, func(j *hosted) bool { return j.found })
	if n < 0 {
		return len(h.jobs)
	}
	return n
}

// same reports whether a job already has configuration c.
func (j *hosted) same(h *Host, c *job.Config) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return reflect.DeepEqual(*j.config, *c)
}

// try loads the code of a job with configuration c, and adds the job to those that the edit
// begins or changes. j is the present job of that name, or nil. An error says why no run could
// begin.
func (e *edit) try(ctx context.Context, j *hosted, c *job.Config) error {
	k := e.h.store.NewCode(c)
	k.SetPeers(e.h.peersOf(c.Name))
	e.tried = append(e.tried, k)
	for name, digest := range map[string]string{c.Module: c.ModuleDigest, c.StrategyModule: c.StrategyDigest} {
		if e.files == nil || name == "" || digest != "" {
			continue
		}
		// The digest is not known, so the file could not be read. Digest returns why.
		if _, err := e.files.Digest(ctx, name); err != nil {
			return err
		}
	}
	if err := k.Check(ctx, *c); err != nil {
		return err
	}
	if j != nil {
		e.result.Changed = append(e.result.Changed, c.Name)
	} else {
		e.result.Added = append(e.result.Added, c.Name)
	}
	if j != nil && !j.ended() {
		e.changed = append(e.changed, change{j, c})
		return nil
	}
	if j != nil { // an operator shut it down on this server; Put starts it again
		e.withdrawn = append(e.withdrawn, j)
	}
	fresh := newHosted(c)
	fresh.code = k
	close(fresh.loaded) // Check has loaded its code
	e.admitted = append(e.admitted, fresh)
	return nil
}

// ended reports whether the runner of one of the host's own jobs has ended.
func (j *hosted) ended() bool {
	select {
	case <-j.left:
		return true
	default:
		return false
	}
}

// release releases code and modules that the edit still holds.
func (e *edit) release() {
	for _, k := range e.tried {
		k.Close()
	}
	for _, give := range e.give {
		give()
	}
}

// apply makes the changes of an edit that prepare has found possible. Jobs leave and begin in
// goroutines of their own, which apply does not wait for.
func (e *edit) apply() {
	h := e.h
	if e.files != nil {
		h.store.SetCatalog(e.files)
	}
	for _, group := range []struct {
		what string
		jobs []string
	}{{"a job was added", e.result.Added}, {"a job was changed", e.result.Changed}, {"a job was removed", e.result.Removed}} {
		slices.Sort(group.jobs)
		for _, name := range group.jobs {
			h.o.Log.Info(group.what, "job", name) //nolint:sloglint // one of three messages
		}
	}
	for _, j := range e.withdrawn {
		h.withdraw(j)
	}
	for _, c := range e.changed { // first free ports that another job may get
		if c.to.MonitorPort != c.j.config.MonitorPort {
			c.j.monitored.close()
		}
	}
	for _, c := range e.changed {
		h.change(c.j, c.to)
		h.monitor(c.j)
	}
	for _, j := range e.admitted { // the job has its code from now on, so release must not close that
		e.tried = slices.DeleteFunc(e.tried, func(k *supply.Code) bool { return k == j.code })
		h.admit(j)
	}
}

// withdraw makes a job drain and leave this server. It does not wait for that.
func (h *Host) withdraw(j *hosted) {
	h.mu.Lock()
	j.leaves = true
	h.mu.Unlock()
	j.monitored.close()
	j.leave()
	h.finder.Alongside(func() {
		<-j.left
		h.forget(j)
	})
}

// forget removes a job that has left from the host. If the job is still in the registry,
// discovery finds it there.
func (h *Host) forget(j *hosted) {
	j.code.Close()
	h.mu.Lock()
	h.jobs = slices.DeleteFunc(h.jobs, func(o *hosted) bool { return o == j })
	h.mu.Unlock()
	h.finder.FileLost(j.config.Name) // before a later edit can add a job with that name
	close(j.gone)
}

// admit adds a new job. The job begins, in a goroutine, when an earlier job of that name, of the
// host's own or found by discovery, has left.
func (h *Host) admit(j *hosted) {
	name := j.config.Name
	h.mu.Lock()
	own := h.jobs[:h.owned()]
	var before *hosted
	for _, o := range own {
		if o.config.Name == name {
			before = o // the newest of them
		}
	}
	h.jobs = slices.Insert(h.jobs, len(own), j)
	j.setContext(h.running)
	h.mu.Unlock()
	h.finder.Alongside(func() {
		if before != nil {
			<-before.gone
		}
		h.finder.FileHas(name)
		h.applied.read(name)
		h.monitor(j)
		h.beginOwn(j)
		close(j.begun)
	})
}

// change gives job j the configuration to.
func (h *Host) change(j *hosted, to *job.Config) {
	h.mu.Lock()
	old, r := *j.config, j.runner
	j.config = to
	h.mu.Unlock()
	j.code.Redefine(to)
	if r != nil {
		r.Redefine(to) // without a runner, the job begins with it later
	}
	if to.StrategyModule != "" && to.StrategyDigest != old.StrategyDigest {
		h.finder.Alongside(func() { j.code.CheckStrategy(j.ctx, *to) })
	}
}
