package operator

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// maxKnown bounds the jobs of a roster. Those beyond it are read for each list.
const maxKnown = 20_000

// roster keeps the reports on jobs that a session has read for lists, until the registry says that
// their jobs have changed. A list reads only those that are not known.
type roster struct {
	root string // the node above all jobs

	following sync.Mutex // held while the session begins to follow the root
	follows   bool       // it does; guarded by following

	mu   sync.Mutex
	jobs map[string]*known // guarded by mu
}

// known is what a list has read of a job. While it is read it has no report.
type known struct{ report *JobReport }

func newRoster(root string) *roster { return &roster{root: root, jobs: map[string]*known{}} }

// follow makes the events of all jobs come, on the session of the roster.
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

// event forgets what an event makes doubtful. It does not wait.
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

// look returns the report on a job, or what keep needs after it was read.
func (r *roster) look(name string) (report *JobReport, reading *known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.jobs[name]
	if k != nil && k.report != nil && !k.report.pauseOver() {
		return k.report, nil
	}
	if k = (&known{}); len(r.jobs) < maxKnown {
		r.jobs[name] = k // an event takes it away, and with it what is being read
	}
	return nil, k
}

// pauseOver reports whether the pause that a report tells of has ended since, which changes nothing in
// the registry.
func (r *JobReport) pauseOver() bool {
	return r.Paused && !r.Pause.Until.IsZero() && !time.Now().Before(r.Pause.Until)
}

// keep keeps a report unless the job has changed since look.
func (r *roster) keep(name string, reading *known, report *JobReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.jobs[name] != reading:
	case report == nil: // it is no job, or cannot be read
		delete(r.jobs, name)
	default:
		reading.report = report
	}
}
