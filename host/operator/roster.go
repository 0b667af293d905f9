package operator

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// maxKnown is the limit of jobs in a roster. Further jobs are read for each list.
const maxKnown = 20_000

// roster caches the reports on jobs that a session has read for lists. An event removes the report
// on its job, so a list reads only jobs that are new or have changed.
type roster struct {
	root string // the node above all jobs

	following sync.Mutex // held while the session begins to follow the root
	follows   bool       // the session follows the root; guarded by following

	mu   sync.Mutex
	jobs map[string]*known // guarded by mu
}

// known is the cached report on a job.
type known struct {
	report *JobReport  // nil while the job is being read
	file   *job.Config // with which the report compares the job; nil: none
	next   time.Time   // the job's next instant, after which it may be over; zero: none
}

func newRoster(root string) *roster { return &roster{root: root, jobs: map[string]*known{}} }

// follow makes s, the session of the roster, receive the events of all jobs.
func (r *roster) follow(ctx context.Context, s registry.Session) error {
	r.following.Lock()
	defer r.following.Unlock()
	if r.follows {
		return nil
	}
	if err := s.Follow(ctx, r.root); err != nil {
		return readError(err, "follow %s", r.root)
	}
	r.follows = true
	return nil
}

// event removes the reports that an event may outdate. It does not block.
func (r *roster) event(e registry.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind != registry.Changed {
		clear(r.jobs) // events may be missing
		return
	}
	if below, ok := strings.CutPrefix(e.Path, r.root+"/"); ok {
		name, _, _ := strings.Cut(below, "/")
		delete(r.jobs, name)
	}
}

// look returns the cached report on a job that was compared with file. If there is none, the caller reads the
// job and passes reading to keep.
func (r *roster) look(name string, file *job.Config) (report *JobReport, reading *known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.jobs[name]
	if k != nil && k.report != nil && k.file == file && !k.mayBeOver() && !k.report.pauseOver() && !k.report.mayBeOverdue() {
		return k.report, nil
	}
	if k = (&known{file: file}); len(r.jobs) < maxKnown {
		r.jobs[name] = k // if an event removes it meanwhile, keep drops the report
	}
	return nil, k
}

// mayBeOver reports whether the job has had an instant since, which may have been its last one. The registry
// sends no event for that while no member runs the job.
func (k *known) mayBeOver() bool { return !k.next.IsZero() && !time.Now().Before(k.next) }

// pauseOver reports whether the pause in a report has expired since. The registry sends no event for
// that.
func (r *JobReport) pauseOver() bool {
	return r.Paused && !r.Pause.Until.IsZero() && !time.Now().Before(r.Pause.Until)
}

// mayBeOverdue reports whether the job has a reshard that becomes overdue without an event. One of a
// foreign leader does not: it may wait for the next instant, possibly with thousands of other jobs.
func (r *JobReport) mayBeOverdue() bool {
	return r.Resharding && !slices.ContainsFunc(r.Members, func(m MemberReport) bool { return m.ID == r.Leader && m.Foreign })
}

// keep caches a report unless the job has changed since look.
func (r *roster) keep(name string, reading *known, report *JobReport) {
	var next time.Time
	if report != nil {
		next = nextInstant(report.Config)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.jobs[name] != reading: // an event has removed it, so the report may be outdated
	case report == nil: // it is no job, or cannot be read
		delete(r.jobs, name)
	default:
		reading.report, reading.next = report, next
	}
}
