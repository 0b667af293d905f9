package host

import (
	"context"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
)

// What follows changes the jobs and modules of a Host that runs, or waits for Run
// to begin. Each call does all that it is asked for, or returns an *Error and
// nothing has changed; only with the code Unknown it goes on by itself. One call
// waits for another one's decision, and no job that stays waits for either.

// Put adds a job to those of the host's Options, or has the one of that name go by
// another configuration. What would keep it from running here is an error: Invalid
// is one of its configuration or module, and tells all that is wrong.
//
// A new job has begun when Put returns: Jobs has it, and Trigger finds it. One of
// that name that still leaves has left by then, and one that was found in the
// registry is the host's own from there on. What changed in a job is brought into
// the registry as at a start, soon after Put has returned and while its runs go on;
// those that begin then go by it. A job that is put as it is stays as it is. A job
// may be granted directories only below those of Options.Allow, or, without that, if
// a job of Options had one.
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
			return failf(Unavailable, nil, "put job %s: the host runs no more", c.Name)
		case <-ctx.Done():
			return failf(Unknown, ctx.Err(), "put job %s: it begins when an earlier job of that name has left", c.Name)
		}
	}
	return nil
}

// Remove takes a job away that the host has by its Options, Put or Reload. Its
// instants are over at once; its runs may go on for Options.DrainTimeout, and are
// asked to stop then. When Remove returns nil, they have ended, their rows are
// stored, and the job has left the registry's members. When ctx ends before that,
// the error is Unknown, and all of it happens nevertheless.
//
// What the registry says of the job stays there, for its other members; with
// Options.Discover this host, too, finds it there. An Operator's Remove deletes that.
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
	case <-h.over: // and with it every job
	case <-ctx.Done():
		return failf(Unknown, ctx.Err(), "remove job %s: it leaves when its runs have ended", name)
	}
	return nil
}

// notOwn says why a job cannot be removed.
func (h *Host) notOwn(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.jobs, func(j *hosted) bool { return j.found && j.config.Name == name }) {
		return failf(Refused, nil, "it was found in the registry; an Operator removes it from there")
	}
	return failf(NotFound, nil, "the host has no such job")
}

// PutModule adds a module to those of the host's Options, or puts another in the
// place of the one of that name; its file is read now, also if it is the same file.
// The jobs that name it go by it as by another configuration, and every one of them
// must be able to; a module that no job names yet is compiled all the same.
// Invalid is a module, or a job with it, that cannot run here.
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

// RemoveModule takes a module away. As long as a job of the host's own names it, it
// is Refused; jobs that leave keep what they run.
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

// Reloaded is what became of the host's own jobs, by name, ascending.
type Reloaded struct {
	Added, Changed, Removed []string
	Kept                    int // how many are as they were
	// NeedRestart are settings of jobs, jobs.NAME.SETTING, that were changed since the
	// job came, and stay as they were then until the host starts anew.
	NeedRestart []string
}

// Reload has the host go by other jobs and modules than those that it has, as if
// it had been started with them: it is Put of each, PutModule of each, and Remove
// of what is there no more, all at once. All that is wrong is told together.
// Reload returns when all of it is decided. It waits for no job to begin or to leave.
func (h *Host) Reload(ctx context.Context, jobs []job.Config, modules map[string]Module) (Reloaded, error) {
	e, err := h.edit(ctx, "reload", func(_ context.Context, e *edit) error {
		e.o.Jobs, e.o.Modules = jobs, maps.Clone(modules)
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
	return e.told, nil
}
