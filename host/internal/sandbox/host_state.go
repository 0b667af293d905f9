package sandbox

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host/job"
)

// hostState is the data outside the instance that an attempt uses: the state of the
// item, HTTP responses and metrics. Each concurrent subtask has its own, forked from
// that of the attempt and joined in the order of the batch. So only one goroutine
// uses it, except for the shared part.
type hostState struct {
	call       *job.Call
	shared     *shared
	itemState  *values // loaded on first use, because most runs do not need it
	parent     *hostState
	sums       map[string]float64
	answers    map[int32]*httpAnswer
	lastHandle int32 // the last handle that was returned
}

// shared is common to all subtasks of an attempt.
type shared struct {
	requests  atomic.Int64 // requests sent
	explained atomic.Int64 // refusals logged
	store     store
}

func newHostState(c *job.Call) *hostState {
	return &hostState{call: c, shared: &shared{}}
}

// fork returns a state for a call of process, or for a subtask. It reads through to
// h, which must not be used until the fork is joined or discarded.
func (h *hostState) fork() *hostState {
	return &hostState{call: h.call, shared: h.shared, parent: h}
}

// join adds the metrics of a fork and, if kept, its changes of the state.
func (h *hostState) join(fork *hostState, kept bool) {
	for name, v := range fork.sums {
		// Subtasks may together have more names than the limit; then the later
		// ones are dropped.
		h.addMetric(name, v)
	}
	if kept && fork.itemState != nil && fork.itemState.dirty() {
		h.applyFork(fork.itemState)
	}
}

// dirty reports whether the state was changed.
func (h *hostState) dirty() bool { return h.itemState != nil && h.itemState.dirty() }

// commit saves the state of the item if it was changed.
func (h *hostState) commit(ctx context.Context) error {
	if !h.dirty() {
		return nil
	}
	return h.itemState.save(ctx, h.call.State)
}

// endCall is called after each entry, because responses do not outlive it. It
// returns the memory that was held for them.
func (h *hostState) endCall() (held uint64) {
	for _, a := range h.answers {
		a.end()
		held += a.heldBytes
	}
	clear(h.answers)
	return held
}

// maxExplained is the maximum number of refusals that an attempt logs.
const maxExplained = 100

// logRefusal logs why a call was refused, for the author of the guest: the guest
// itself only gets a code.
func (r *run) logRefusal(msg string, attrs ...slog.Attr) {
	if r.hostState.shared.explained.Add(1) <= maxExplained {
		r.log.logLimited(r.ctx, slog.LevelDebug, msg, attrs...)
	}
}

// metrics returns the metrics of the attempt.
func (h *hostState) metrics() map[string]float64 { return h.sums }
