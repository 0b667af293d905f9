package host

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Jobs returns the status of each job: first the host's own jobs in the order in which they
// were added, then jobs found in the registry, by name.
func (h *Host) Jobs() []job.Status {
	h.mu.Lock()
	reg, sessions := h.registry, h.sessions
	// jobs has copies, since mu is not held while the runners are asked.
	jobs, all := make([]hosted, len(h.jobs)), make([]job.Status, len(h.jobs))
	for i, j := range h.jobs {
		jobs[i], all[i].Config = *j, *j.config
	}
	h.mu.Unlock()
	shared := h.out.Troubles() // troubles of outputs and session concern every job
	if sessions != nil {
		shared = append(shared, sessions.Troubles()...)
	}
	if err := takesNoWrites(reg); err != nil {
		shared = append(shared, reason.Of(reason.RegistryFailed, err.Error()))
	}
	for i, j := range jobs {
		s := &all[i]
		if j.runner != nil {
			*s = j.runner.Status()
			s.Next = h.tick.Next(s.Config.Name)
			for i := range s.Items {
				if it := &s.Items[i]; !it.Disabled && !s.Paused {
					it.Next = s.Next
				}
			}
			own := slices.DeleteFunc(s.Troubles, func(t reason.Reason) bool { return slices.Contains(shared, t) })
			s.Troubles = slices.Concat(shared, own)
		} else if sessions != nil && j.isLoading() { // without sessions, Run has not begun to load
			s.Troubles = []reason.Reason{reason.Of(reason.ModuleCompiling)}
		}
		s.Fault = j.whyRefused()
	}
	return all
}

// Healthy returns nil, or an *Error with Reasons why no job can go on here: there is no
// registry session, its connection is lost, the registry does not answer, or cannot be written.
// Troubles of a single job are in its Status.
func (h *Host) Healthy() error {
	h.mu.Lock()
	reg, sessions := h.registry, h.sessions
	h.mu.Unlock()
	if sessions != nil {
		if troubles := sessions.Troubles(); len(troubles) > 0 {
			e := failf(Unavailable, errors.New(reason.Words(troubles, "; ")), "no job can go on")
			e.Reasons = troubles
			return e
		}
	}
	if err := takesNoWrites(reg); err != nil {
		e := failf(Unavailable, err, "no job can go on")
		e.Reasons = []reason.Reason{reason.Of(reason.RegistryFailed, err.Error())}
		return e
	}
	return nil
}

// takesNoWrites returns why a registry refuses writes now, if the registry can report that.
func takesNoWrites(reg registry.Registry) error {
	if r, ok := reg.(interface{ Healthy() error }); ok {
		return r.Healthy()
	}
	return nil
}

// Trigger requests that every member of the job runs its items now. It returns when the request
// is written.
func (h *Host) Trigger(ctx context.Context, name string) error {
	return h.ask(ctx, "trigger", name, protocol.AskTrigger{})
}

// Pause prevents the job from beginning at its instants until Resume.
func (h *Host) Pause(ctx context.Context, name string) error {
	return h.ask(ctx, "pause", name, protocol.AskPause{Paused: true})
}

// Resume ends a pause.
func (h *Host) Resume(ctx context.Context, name string) error {
	return h.ask(ctx, "resume", name, protocol.AskPause{})
}

// DisableItem prevents an item of the job from beginning at its instants until EnableItem.
func (h *Host) DisableItem(ctx context.Context, name string, item int) error {
	return h.ask(ctx, "disable an item of", name, protocol.AskItem{Item: item, Disabled: true})
}

// EnableItem reverts DisableItem.
func (h *Host) EnableItem(ctx context.Context, name string, item int) error {
	return h.ask(ctx, "enable an item of", name, protocol.AskItem{Item: item})
}

// DisableServer takes the job's items away from the servers at an address until EnableServer.
func (h *Host) DisableServer(ctx context.Context, name, ip string) error {
	return h.ask(ctx, "disable a server of", name, protocol.AskServer{IP: ip, Disabled: true})
}

// EnableServer reverts DisableServer.
func (h *Host) EnableServer(ctx context.Context, name, ip string) error {
	return h.ask(ctx, "enable a server of", name, protocol.AskServer{IP: ip})
}

// Reshard requests that the leader assigns all items anew.
func (h *Host) Reshard(ctx context.Context, name string) error {
	return h.ask(ctx, "reshard", name, protocol.AskReshard{})
}

// Cancel asks the guest of an attempt that runs on this server to stop, and ends it after its
// grace period or, with now, at once. Cancel does not wait for the end. The attempt is not
// retried. Without such an attempt, Cancel does nothing.
func (h *Host) Cancel(name string, item int, run string, attempt int, now bool) {
	if r, err := h.runner(name); err == nil {
		r.Cancel(runner.Cancellation{Item: item, Run: run, Attempt: attempt, Now: now})
	}
}

// ask makes the runner of the named job write an operator's request. what is the verb for errors.
func (h *Host) ask(ctx context.Context, what, name string, a protocol.Ask) error {
	r, err := h.runner(name)
	if err != nil {
		return err
	}
	return askError(what, name, r.Ask(ctx, a))
}

// runner returns the runner of a job, or an error that says why there is none.
func (h *Host) runner(name string) (*runner.Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.jobs {
		switch {
		case j.config.Name != name || j.leaves:
		case j.whyRefused() != "":
			return nil, failf(Refused, nil, "job %s was refused: %s", name, j.whyRefused())
		case j.runner == nil && h.sessions != nil && j.isLoading():
			return nil, failf(Unavailable, nil, "job %s: its module is being compiled", name)
		case j.runner == nil && h.sessions == nil:
			return nil, failf(Unavailable, nil, "job %s: the host is not running", name)
		case j.runner == nil:
			return nil, failf(Unavailable, nil, "job %s has not begun", name)
		default:
			return j.runner, nil
		}
	}
	return nil, failf(NotFound, nil, "there is no job %q on this server", name)
}
