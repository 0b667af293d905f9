package host

import (
	"context"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
)

// The functions below change the jobs and modules of a running Host; before Run they wait for
// it. Each call makes its whole change, or returns an *Error and changes nothing; only with the
// code Unknown the change goes on. Changes are made one at a time, and unchanged jobs do not
// wait for them.

// Put adds a job to the host's own jobs, or replaces the configuration of the job with that
// name. It is an error if the job could not run here. An error with the code Invalid lists all
// faults of the configuration and the module.
//
// When Put returns, a new job has begun: Jobs lists it, and Trigger finds it. An earlier job of
// that name has left by then, and a job that was found in the registry has become the host's
// own. Changes of a job are written into the registry as at a start, soon after Put has
// returned and while its runs go on; later runs use them. Putting a job again without a change
// does nothing. A job may be granted only directories below those of Options.Allow. If Options
// had no limits but a job with a granted directory, any directory may be granted.
func (h *Host) Put(ctx context.Context, c job.Config) error {
	e, err := h.edit(ctx, "put job "+c.Name, func(_ context.Context, e *edit) error {
		e.o.Jobs = []job.Config{c}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range e.admitted {
		select {
		case <-j.begun:
		case <-h.over:
			return failf(Unavailable, nil, "put job %s: the host has stopped", c.Name)
		case <-ctx.Done():
			return failf(Unknown, ctx.Err(), "put job %s: it begins when an earlier job of that name has left", c.Name)
		}
	}
	return nil
}

// Remove removes a job that came from Options, Put or Reload. The job does not begin at further
// instants. Its runs may go on for Options.DrainTimeout, and are asked to stop then. When
// Remove returns nil, they have ended, their rows are stored, and this host is no longer a
// member of the job. If ctx ends before that, the error is Unknown, and the removal goes on.
//
// The job stays in the registry for its other members. With Options.Discover this host finds it
// there again. Remove of package operator deletes it from the registry.
func (h *Host) Remove(ctx context.Context, name string) error {
	e, err := h.edit(ctx, "remove job "+name, func(_ context.Context, e *edit) error {
		if e.own[name] == nil {
			return h.notOwn(name)
		}
		e.remove(name)
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-e.withdrawn[0].gone:
	case <-h.over: // every job has left
	case <-ctx.Done():
		return failf(Unknown, ctx.Err(), "remove job %s: it leaves when its runs have ended", name)
	}
	return nil
}

// notOwn returns the error for a job that is not one of the host's own.
func (h *Host) notOwn(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.jobs, func(j *hosted) bool { return j.found && j.config.Name == name }) {
		return failf(Refused, nil, "it was found in the registry; use package operator to remove it there")
	}
	return failf(NotFound, nil, "the host has no such job")
}

// PutModule adds a module, or replaces the one with that name. It reads the file, even if the
// path is the same as before. Jobs that name the module change as with Put, and all of them
// must be able to run it. A module that no job names yet is compiled, too. The code of the
// error is Invalid if the module, or a job with it, cannot run here.
func (h *Host) PutModule(ctx context.Context, name string, m Module) error {
	_, err := h.edit(ctx, "put module "+name, func(ctx context.Context, e *edit) error {
		switch {
		case h.o.Runner != nil:
			return failf(Invalid, nil, "Options.Runner runs all jobs, so the host has no modules")
		case h.o.DataDir == "":
			return failf(Invalid, nil, noDataDir)
		}
		e.put(name, m)
		e.o.Jobs = e.users(name)
		return e.load(ctx, name)
	})
	return err
}

// RemoveModule removes a module. It is Refused while one of the host's own jobs names the
// module. Jobs that are leaving keep the code that they run.
func (h *Host) RemoveModule(ctx context.Context, name string) error {
	_, err := h.edit(ctx, "remove module "+name, func(_ context.Context, e *edit) error {
		if _, ok := e.o.Modules[name]; !ok || e.files == nil {
			return failf(NotFound, nil, "the host has no such module")
		}
		if jobs := e.users(name); len(jobs) > 0 {
			return failf(Refused, nil, "job %s names it; remove that first, or put it with another module", jobs[0].Name)
		}
		delete(e.o.Modules, name)
		e.files.Remove(name)
		return nil
	})
	return err
}

// Reloaded is the result of a Reload: names of the host's own jobs, sorted.
type Reloaded struct {
	Added, Changed, Removed []string
	Kept                    int // number of unchanged jobs
}

// Reload replaces the host's own jobs and modules as if the host had been started with these:
// it does PutModule and Put for each of them, and Remove for missing jobs and modules, in one
// edit. The error lists all faults. Reload does not wait for jobs to begin or leave.
func (h *Host) Reload(ctx context.Context, jobs []job.Config, modules map[string]Module) (Reloaded, error) {
	return h.reload(ctx, jobs, modules, false)
}

// CheckReload returns what Reload would, and changes nothing.
func (h *Host) CheckReload(ctx context.Context, jobs []job.Config, modules map[string]Module) (Reloaded, error) {
	return h.reload(ctx, jobs, modules, true)
}

// reload is Reload or, if dry, CheckReload.
func (h *Host) reload(ctx context.Context, jobs []job.Config, modules map[string]Module, dry bool) (Reloaded, error) {
	e, err := h.edit(ctx, "reload", func(_ context.Context, e *edit) error {
		e.dry, e.o.Jobs, e.o.Modules = dry, jobs, maps.Clone(modules)
		if e.files != nil {
			e.files = h.store.NewCatalog(filesOf(modules))
		}
		for _, name := range slices.Sorted(maps.Keys(e.own)) {
			if !slices.ContainsFunc(jobs, func(c job.Config) bool { return c.Name == name }) {
				e.remove(name)
			}
		}
		return nil
	})
	if err != nil {
		return Reloaded{}, err
	}
	return e.result, nil
}
