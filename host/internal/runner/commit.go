package runner

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// commit writes what the plan says, against the view it was decided on: that is
// the core's, which may be older than the member's.
func (m *member) commit(p protocol.Plan) {
	ops := m.Layout.Encode(p.Commit, m.state.View())
	m.Log.Debug("commit", "plan", p.ID, "mutation", p.Commit.Name(), "ops", len(ops))
	m.mirror.Submitted(ops)
	m.line.Submit(m.life, ops, func(receipt registry.Receipt, err error) {
		m.box.put(commitLetter{plan: p.ID, name: p.Commit.Name(), receipt: receipt, err: err})
	})
}

func (m *member) committed(l commitLetter) {
	in := protocol.Committed{Plan: l.plan, Revision: l.receipt.Revision}
	if l.err != nil {
		m.mirror.Answered(nil, 0)
	}
	switch {
	case l.err == nil:
		m.mirror.Answered(&l.receipt, m.line.ID())
		in.Outcome = protocol.Applied
		m.refusals = 0
		m.troubles.clear(troubleCommit)
	case errors.Is(l.err, registry.ErrConflict):
		// An ordinary thing: somebody was quicker.
		in.Outcome, in.Occupied = protocol.Refused, m.Layout.Occupied(l.err)
		m.refusals++
		m.Log.Debug("commit refused", "mutation", l.name, "error", l.err)
	case errors.Is(l.err, registry.ErrTooLarge):
		in.Outcome, in.TooLarge = protocol.Refused, true
		m.refusals++
		m.troubles.set(troubleCommit, l.err.Error())
		m.Log.Error("a transaction is larger than the registry takes", "mutation", l.name, "error", l.err)
	case errors.Is(l.err, registry.ErrDenied):
		in.Outcome = protocol.Refused
		m.refusals++
		m.troubles.set(troubleCommit, l.err.Error())
		m.Log.Error("the registry does not permit a transaction; it is tried again until it does", "mutation", l.name, "error", l.err)
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
	m.step(in)
}

// readOnly tells, once in a session, that nothing can be written any more.
func (m *member) readOnly(cause error) {
	m.troubles.set(troubleReadOnly, cause.Error())
	m.toldReadOnly.Do(func() { m.Log.Error("the registry takes no writes, nothing begins", "error", cause) })
}

// freeRefusals is how many refusals in a row are answered without a pause.
const freeRefusals = 3

// sync lets the next view wait until the session has caught up with the
// service. After many refusals it also waits a little: a mutation that is
// refused for ever must not become a busy circle.
func (m *member) sync(in protocol.Input) {
	if c, ok := in.(protocol.Committed); ok && c.Outcome == protocol.Unknown {
		m.reread = true
	}
	if m.syncing {
		return
	}
	m.syncing = true
	pause := time.Duration(0)
	if n := m.refusals - freeRefusals; n > 0 {
		pause = min(session.FirstPause<<min(n, 10), session.LastPause)
	}
	m.work.Go(func() {
		if pause > 0 && !session.Sleep(m.life, pause) {
			return
		}
		for p := new(session.Pauses); ; {
			err := m.line.Sync(m.life)
			if err == nil {
				m.troubles.clear(troubleReadOnly)
				m.box.put(syncLetter{})
				return
			}
			if m.life.Err() != nil || errors.Is(err, registry.ErrEnded) {
				return // the last event of the session follows, or has been read
			}
			if errors.Is(err, registry.ErrReadOnly) {
				m.readOnly(err)
			}
			m.Log.Debug("the registry does not answer, nothing begins", "error", err)
			if !session.Sleep(m.life, p.Next()) {
				return
			}
		}
	})
}
