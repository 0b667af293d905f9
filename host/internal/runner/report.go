package runner

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// reporter logs the facts about a member that operators need, keeps the job's troubles up
// to date, and repeats nothing.
type reporter struct {
	log      *slog.Logger
	troubles *troubles

	readOnlyOnce  sync.Once
	deniedReads   map[string]string // by path, why reading the node is denied
	nextModule    protocol.Ready    // what was last reported
	enabledPassed bool              // enabled has nothing more to report
}

// readOnly reports that the registry takes no writes. Any goroutine may call it.
func (r *reporter) readOnly(cause error) {
	r.troubles.set(troubleReadOnly, cause.Error())
	r.readOnlyOnce.Do(func() { r.log.Error("the registry takes no writes; no run begins", "error", cause) })
}

// readDenied reports a node that the server may not read. Its path stays among the
// troubles, where operators see why the job does nothing.
func (r *reporter) readDenied(path string, cause error) {
	if _, known := r.deniedReads[path]; known {
		return
	}
	if r.deniedReads == nil {
		r.deniedReads = map[string]string{}
	}
	r.deniedReads[path] = cause.Error()
	r.log.Error("the registry does not permit reading a node of the job; no run begins, and the read is retried", "error", cause)
	r.setDeniedReads()
}

// readAllowed removes a node that was read from the troubles.
func (r *reporter) readAllowed(path string) {
	if _, known := r.deniedReads[path]; known {
		delete(r.deniedReads, path)
		r.setDeniedReads()
	}
}

// viewComplete removes all nodes from the troubles: each was read, or is no longer
// needed.
func (r *reporter) viewComplete() {
	if len(r.deniedReads) > 0 {
		r.deniedReads = nil
		r.setDeniedReads()
	}
}

// setDeniedReads sets the trouble of nodes that the server may not read to the present ones.
func (r *reporter) setDeniedReads() {
	r.troubles.set(troubleRead, strings.Join(slices.Sorted(maps.Values(r.deniedReads)), "; "))
}

// commit reports the outcome of a transaction, except for ReadOnly.
func (r *reporter) commit(outcome follow.Outcome, mutation string, err error) {
	switch outcome {
	case follow.Applied:
		r.troubles.clear(troubleCommit)
	case follow.Conflict:
		r.log.Debug("commit refused", "mutation", mutation, "error", err)
	case follow.TooLarge:
		r.troubles.set(troubleCommit, err.Error())
		r.log.Error("a transaction is larger than the registry takes", "mutation", mutation, "error", err)
	case follow.Denied:
		r.troubles.set(troubleCommit, err.Error())
		r.log.Error("the registry does not permit a transaction; it is retried", "mutation", mutation, "error", err)
	case follow.Unknown:
		r.log.Warn("the outcome of a commit is unknown", "mutation", mutation, "error", err)
	case follow.ReadOnly, follow.Ended:
	}
}

// module reports changes in whether the next module is ready on this server.
func (r *reporter) module(ready protocol.Ready) {
	if ready == r.nextModule {
		return
	}
	r.nextModule = ready
	if ready.Fault != "" {
		r.log.Error("the next module cannot run here, so no server switches to it", "module", ready.Digest, "error", ready.Fault)
		return
	}
	r.log.Info("the next module is ready here", "module", ready.Digest)
}

// enabled reports that a job is enabled on this server although the file says disabled:
// that setting only counts while the server is new to the job; from then on the registry
// decides.
func (r *reporter) enabled(file *job.Config, v *protocol.View, self job.InstanceID) {
	if !file.Disabled || r.enabledPassed {
		return
	}
	r.enabledPassed = true
	for _, s := range v.Servers {
		if s.IP == self.IP() && !s.Disabled {
			r.log.Warn("disabled = true has no effect: the registry knows this server for the job, as enabled; disable it there", "server", s.IP)
		}
	}
}

// note logs a note of the core. self is this member. A note that stops the job is an error,
// since nothing else shows it.
func (r *reporter) note(n protocol.Note, self job.InstanceID) {
	attrs := []any{"reason", n.Why.String(), "reason_code", n.Why.Code, "instance", self}
	if hint := n.Why.Hint(); hint != "" {
		attrs = append(attrs, "cure", hint)
	}
	switch {
	case n.Goes:
		r.log.Error("the job does not continue as expected", attrs...)
	case n.Wrong:
		r.log.Error("the job cannot go on", attrs...)
	default:
		r.log.Info(n.Why.Event(), attrs...) //nolint:sloglint // it is one for each code
	}
}
