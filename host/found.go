package host

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/finder"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// newFinder returns what looks for the registry's other jobs. With Discover it starts all of them
// that this server can run. Without, it starts at most those that an operator created, and warns
// of jobs that no server runs.
func (h *Host) newFinder(ctx context.Context) *finder.Finder {
	o := finder.Options{Namespace: h.o.Namespace, Sessions: h.sessions, Host: foundJobs{h}, Log: h.o.Log, Go: h.work.Go}
	if !h.o.Discover {
		o.Undefined = h.undefined
	}
	if !h.o.Discover && h.o.Created {
		o.Created = h.created
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.jobs {
		o.Own = append(o.Own, j.config.Name)
	}
	return finder.New(ctx, o)
}

// foundJobs are the jobs of a host that discovery found in the registry.
type foundJobs struct{ h *Host }

// Unable implements finder.Host.
func (f foundJobs) Unable(c job.Config) []reason.Reason { return f.h.o.Unable(c, nil) }

// Found implements finder.Host.
func (f foundJobs) Found(name string) finder.Job { return &foundJob{h: f.h, name: name} }

// foundJob implements finder.Job.
type foundJob struct {
	h    *Host
	name string
	job  *hosted // nil unless the host lists it
}

// Show implements finder.Job.
func (f *foundJob) Show(c job.Config) {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	if f.job != nil {
		f.job.config = &c
		return
	}
	f.job = &hosted{config: &c, found: true, code: f.h.store.NewCode(nil)}
	f.job.code.SetPeers(f.h.peersOf(f.name))
	own := f.h.owned()
	at, _ := slices.BinarySearchFunc(f.h.jobs[own:], f.name, func(j *hosted, name string) int { return strings.Compare(j.config.Name, name) })
	f.h.jobs = slices.Insert(f.h.jobs, own+at, f.job)
}

// Load implements finder.Job. A fetch from another server may succeed later, and so may a read
// after a fault of the system.
func (f *foundJob) Load(ctx context.Context, c job.Config) (again bool, err error) {
	err = f.job.code.Load(ctx, c)
	_, elsewhere := errors.AsType[*supply.FetchError](err)
	return elsewhere || isSystemError(err), err
}

// Prefetch implements finder.Job.
func (f *foundJob) Prefetch(c job.Config) {
	if j := f.job; !j.code.Ready(c) {
		f.h.work.Go(func() { f.h.loadChanged(j, c) })
	}
}

// Start implements finder.Job.
func (f *foundJob) Start(ctx context.Context, changed func(*job.Config), ended func(asked bool)) (joined <-chan struct{}, err error) {
	r := f.h.newRunner(f.job, changed)
	f.h.mu.Lock()
	f.job.runner, f.job.fault = r, ""
	f.h.mu.Unlock()
	err = f.h.begin(ctx, f.job, func() {
		asked := ctx.Err() != nil // by the finder, not by an operator
		f.removeRunner(asked)
		ended(asked)
	})
	if err != nil {
		f.removeRunner(true)
	}
	return r.Joined(), err
}

// removeRunner removes the runner, which has ended. If the server did not ask for the end, an
// operator shut the job down here.
func (f *foundJob) removeRunner(asked bool) {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	if f.job.runner = nil; !asked {
		f.job.fault = finder.ErrShut.Error()
	}
}

// Refuse implements finder.Job. It logs the reason if it is new.
func (f *foundJob) Refuse(err error) {
	if f.job == nil {
		f.Show(job.Config{Name: f.name})
	}
	f.h.mu.Lock()
	news := f.job.fault != err.Error()
	f.job.fault = err.Error()
	f.h.mu.Unlock()
	if news {
		f.h.o.Log.Warn("a job of the registry does not run on this server", "job", f.name, "error", err)
	}
}

// Hide implements finder.Job.
func (f *foundJob) Hide() {
	if f.job == nil {
		return
	}
	f.h.mu.Lock()
	f.h.jobs = slices.DeleteFunc(f.h.jobs, func(j *hosted) bool { return j == f.job })
	f.h.mu.Unlock()
	f.job.code.Close()
	f.job = nil
}
