package sandbox

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host/job"
)

// hostState is what an attempt has of the world beyond its instance: the state
// of the item, answers of HTTP, sums. Parts of a batch that are processed at
// the same time have one each, forked from that of the attempt and joined with
// it in the order of the batch; so each is used by one goroutine, except for
// what is said to be shared.
type hostState struct {
	call       *job.Call
	shared     *shared
	state      *values // made when first asked for
	parent     *hostState
	sums       map[string]float64
	answers    map[int32]*httpAnswer
	lastHandle int32 // the last that was given
}

// shared is what all parts of an attempt have in common.
type shared struct {
	requests  atomic.Int64 // that were sent
	explained atomic.Int64 // refusals that were told to the log
	store     store
}

func newOutside(c job.Call) *hostState {
	return &hostState{call: &c, shared: &shared{}}
}

// begin is called before the first entry. The state is loaded when a guest
// asks for it: most runs of most jobs do not.
func (*hostState) begin(context.Context) error { return nil }

// fork is for one call of process, or for one part of it: it sees what o has
// set, and o is not used until it is joined or given up.
func (o *hostState) fork() *hostState {
	return &hostState{call: o.call, shared: o.shared, parent: o}
}

// join takes over what a fork has summed up and, if it is kept, has set.
func (o *hostState) join(fork *hostState, kept bool) {
	for name, v := range fork.sums {
		// What is one name too many was refused, unless parts added different
		// ones; then the later parts lose theirs.
		o.addMetric(name, v)
	}
	if kept && fork.state != nil && fork.state.dirty() {
		o.applyFork(fork.state)
	}
}

// dirty tells whether something was set.
func (o *hostState) dirty() bool { return o.state != nil && o.state.dirty() }

// commit has what was set kept in the store.
func (o *hostState) commit(ctx context.Context) error {
	if !o.dirty() {
		return nil
	}
	return o.state.save(ctx, o.call.State)
}

// endCall is called after each entry: answers do not outlive it. It tells what
// was held for them.
func (o *hostState) endCall() (held uint64) {
	for _, a := range o.answers {
		a.end()
		held += a.heldBytes
	}
	clear(o.answers)
	return held
}

// maxExplained bounds the refusals of an attempt that are told to the log.
const maxExplained = 100

// logRefusal tells the author of a guest what was refused, of which the guest gets
// a number alone.
func (r *run) logRefusal(msg string, attrs ...slog.Attr) {
	if r.state.shared.explained.Add(1) <= maxExplained {
		r.log.logLimited(r.ctx, slog.LevelDebug, msg, attrs...)
	}
}

// metrics are the sums of the attempt.
func (o *hostState) metrics() map[string]float64 { return o.sums }
