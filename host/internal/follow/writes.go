package follow

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Plan is what the caller must do after a step of the core.
type Plan struct {
	ID     int64
	Commit protocol.Mutation // nil: no transaction
	Ops    []registry.Op     // the operations of Commit; Answered receives the outcome
	Sync   bool              // sync the session after Pause, and again until that succeeds; then call Synced
	Pause  time.Duration
	// Effects are to be carried out in this order.
	Effects []protocol.Effect
}

// Step passes an input to the core. Its decision is encoded against the view that
// it was made on, which may be older than the loop's.
func (l *Loop) Step(now int64, in protocol.Input) Plan {
	p := protocol.Step(l.state, now, in)
	plan := Plan{ID: p.ID, Commit: p.Commit, Effects: p.Effects[:0]}
	if p.Commit != nil {
		plan.Ops = l.job.Encode(p.Commit, l.state.View())
		l.mirror.Submitted(plan.Ops)
	}
	for _, e := range p.Effects {
		switch e.(type) {
		case protocol.Sync:
			plan.Sync, plan.Pause = l.sync()
		case protocol.Reread:
			l.mirror.Reread()
		default:
			plan.Effects = append(plan.Effects, e)
		}
	}
	return plan
}

// Outcome is the outcome of a transaction.
type Outcome uint8

// All but Applied and Unknown are refusals: the transaction was not applied, and
// never will be.
const (
	Applied  Outcome = iota
	Conflict         // the usual refusal: another member was faster
	TooLarge
	Denied
	ReadOnly
	Ended   // the session has ended
	Unknown // the transaction may have been applied, or may be applied later
)

// outcome is the outcome of a commit that returned err.
func outcome(err error) Outcome {
	switch {
	case err == nil:
		return Applied
	case errors.Is(err, registry.ErrConflict):
		return Conflict
	case errors.Is(err, registry.ErrTooLarge):
		return TooLarge
	case errors.Is(err, registry.ErrDenied):
		return Denied
	case errors.Is(err, registry.ErrEnded):
		return Ended
	case errors.Is(err, registry.ErrReadOnly) && !errors.Is(err, registry.ErrUnknown):
		return ReadOnly
	default:
		// Errors that the port does not name are unknown, too. To treat one as a refusal
		// would be a guess.
		return Unknown
	}
}

// Answered receives the outcome of the transaction of a plan; owner is the session.
// The returned input is for the core.
func (l *Loop) Answered(plan int64, receipt registry.Receipt, owner registry.SessionID, err error) (protocol.Committed, Outcome) {
	in := protocol.Committed{Plan: plan, Revision: receipt.Revision, Outcome: protocol.Refused}
	o := outcome(err)
	l.answered = true
	l.refusals++ // unless it was applied
	if o == Applied {
		l.mirror.Answered(&receipt, owner)
		l.refusals = 0
	} else {
		l.mirror.Answered(nil, 0)
	}
	switch o { //nolint:exhaustive // to the core, all other refusals are alike
	case Applied:
		in.Outcome = protocol.Applied
	case Conflict:
		in.Occupied = l.job.Occupied(err)
	case TooLarge:
		in.TooLarge = true
	case Unknown:
		in.Outcome = protocol.Unknown
		l.reread = true
	}
	return in, o
}

// freeRefusals is the number of refusals in a row that cause no pause.
const freeRefusals = 3

// sync makes the next view wait until the session has caught up with the registry.
// After many refusals in a row it also pauses: a mutation that is always refused
// must not be repeated in a busy loop.
func (l *Loop) sync() (due bool, pause time.Duration) {
	if l.syncing {
		return false, 0
	}
	l.syncing = true
	return true, backoff.After(firstPause, longestPause, int(l.refusals)-freeRefusals)
}

// Syncing reports whether a sync is outstanding.
func (l *Loop) Syncing() bool { return l.syncing }

// Synced must be called when the session has caught up with the service. After a
// transaction of unknown outcome all nodes are read again, because events alone would not
// show what it wrote.
func (l *Loop) Synced() {
	l.syncing = false
	if l.reread {
		l.reread = false
		l.mirror.Reread()
	}
}
