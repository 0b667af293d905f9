package runner

import (
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// commit writes what the plan says, against the view it was decided on.
func (m *member) commit(ctx context.Context, p protocol.Plan) {
	ops := m.Layout.Encode(p.Commit, m.view)
	m.Log.Debug("commit", "plan", p.ID, "mutation", p.Commit.Name(), "ops", len(ops))
	m.work.Go(func() {
		receipt, err := m.session.Commit(ctx, ops...)
		m.box.put(commitLetter{plan: p.ID, name: p.Commit.Name(), revision: receipt.Revision, err: err})
	})
}

func (m *member) committed(ctx context.Context, l commitLetter) {
	in := protocol.Committed{Plan: l.plan, Revision: l.revision}
	switch {
	case l.err == nil:
		in.Outcome = protocol.Applied
		m.refusals = 0
		m.troubles.clear(troubleCommit)
	case errors.Is(l.err, registry.ErrConflict):
		// An ordinary thing: somebody was quicker.
		in.Outcome, in.Occupied = protocol.Refused, m.Layout.Occupied(l.err)
		m.refusals++
		m.Log.Debug("commit refused", "mutation", l.name, "error", l.err)
	case errors.Is(l.err, registry.ErrTooLarge):
		in.Outcome = protocol.Refused
		m.refusals++
		m.troubles.set(troubleCommit, l.err.Error())
		m.Log.Error("a transaction is larger than the registry takes", "mutation", l.name, "error", l.err)
	case errors.Is(l.err, registry.ErrEnded):
		in.Outcome = protocol.Refused
		m.refusals++
	case errors.Is(l.err, registry.ErrReadOnly) && !errors.Is(l.err, registry.ErrUnknown):
		in.Outcome = protocol.Refused
		m.refusals++
		m.readOnly(l.err)
	default:
		// Also what the port does not name: to call it refused would be a guess.
		in.Outcome = protocol.Unknown
		m.refusals++
		m.Log.Warn("the outcome of a commit is unknown", "mutation", l.name, "error", l.err)
	}
	m.answered = true
	m.step(ctx, in)
}

// readOnly tells, once in a session, that nothing can be written any more.
func (m *member) readOnly(cause error) {
	m.troubles.set(troubleRegistry, cause.Error())
	m.toldReadOnly.Do(func() { m.Log.Error("the registry takes no writes, nothing begins", "error", cause) })
}

// freeRefusals is how many refusals in a row are answered without a pause.
const freeRefusals = 3

// sync lets the next view wait until the session has caught up with the
// service. After many refusals it also waits a little: a mutation that is
// refused for ever must not become a busy circle.
func (m *member) sync(ctx context.Context, in protocol.Input) {
	if c, ok := in.(protocol.Committed); ok && c.Outcome == protocol.Unknown {
		m.reread = true
	}
	if m.syncing {
		return
	}
	m.syncing = true
	pause := time.Duration(0)
	if n := m.refusals - freeRefusals; n > 0 {
		pause = min(firstPause<<min(n, 10), lastPause)
	}
	m.work.Go(func() {
		if pause > 0 && !sleep(ctx, pause) {
			return
		}
		for p := newPauses(); ; {
			err := m.session.Sync(ctx)
			if err == nil {
				m.troubles.clear(troubleRegistry)
				m.box.put(syncLetter{})
				return
			}
			if ctx.Err() != nil || errors.Is(err, registry.ErrEnded) {
				return // the last event of the session follows, or has been read
			}
			if errors.Is(err, registry.ErrReadOnly) {
				m.readOnly(err)
			} else {
				m.troubles.set(troubleRegistry, err.Error())
				m.Log.Error("the registry does not answer, nothing begins", "error", err)
			}
			if !sleep(ctx, p.next()) {
				return
			}
		}
	})
}
