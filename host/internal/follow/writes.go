package follow

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Plan is what a step of the core wants.
type Plan struct {
	ID     int64
	Commit protocol.Mutation // nil: nothing is to be written
	Ops    []registry.Op     // the transaction that spells Commit; Answered takes its answer
	Sync   bool              // the session is to be synced until that succeeds, from Pause on; Synced says that it has
	Pause  time.Duration
	// Effects are what else is to be carried out, in this order.
	Effects []protocol.Effect
}

// Step asks the core. What it decides is spelled against the view that it was
// decided on, which may be older than the loop's.
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

// Outcome is what became of a transaction.
type Outcome uint8

// All but Applied and Unknown are refusals: nothing was applied, nor will be.
const (
	Applied  Outcome = iota
	Conflict         // an ordinary thing: somebody was quicker
	TooLarge
	Denied
	ReadOnly
	Ended   // so has the session
	Unknown // it may have been applied, or be applied yet
)

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
		// Also what the port does not name: to call it refused would be a guess.
		return Unknown
	}
}

// Answered takes the answer to the transaction of a plan; owner is the session.
// What comes back is for the core.
func (l *Loop) Answered(plan int64, receipt registry.Receipt, owner registry.SessionID, err error) (protocol.Committed, Outcome) {
	in := protocol.Committed{Plan: plan, Revision: receipt.Revision, Outcome: protocol.Refused}
	o := outcome(err)
	l.answered = true
	l.refusals++
	if o == Applied {
		l.mirror.Answered(&receipt, owner)
		l.refusals = 0
	} else {
		l.mirror.Answered(nil, 0)
	}
	switch o { //nolint:exhaustive // the others are refusals without a word
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

// freeRefusals is how many refusals in a row are answered without a pause.
const freeRefusals = 3

// sync lets the next view wait until the session has caught up with the
// service. After many refusals it also waits a little: a mutation that is
// refused for ever must not become a busy circle.
func (l *Loop) sync() (due bool, pause time.Duration) {
	if l.syncing {
		return false, 0
	}
	l.syncing = true
	return true, backoff.After(firstPause, longest, int(l.refusals)-freeRefusals)
}

// Syncing tells whether the answer to a sync is awaited.
func (l *Loop) Syncing() bool { return l.syncing }

// Synced says that the session has caught up. What a transaction without an answer
// wrote is read, and not left to events.
func (l *Loop) Synced() {
	l.syncing = false
	if l.reread {
		l.reread = false
		l.mirror.Reread()
	}
}
