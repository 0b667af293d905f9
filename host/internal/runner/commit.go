package runner

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// sendCommit sends the transaction of a plan.
func (m *member) sendCommit(p follow.Plan) {
	m.Log.Debug("commit", "plan", p.ID, "mutation", p.Commit.Name(), "ops", len(p.Ops))
	m.session.Submit(m.life.ctx, p.Ops, func(receipt registry.Receipt, err error) {
		m.inbox.put(commitMessage{plan: p.ID, name: p.Commit.Name(), receipt: receipt, err: err})
	})
}

// commitAnswered handles the answer to a transaction.
func (m *member) commitAnswered(answer commitMessage) {
	in, outcome := m.loop.Answered(answer.plan, answer.receipt, m.session.ID(), answer.err)
	m.report.commit(outcome, answer.name, answer.err)
	if outcome == follow.Applied && m.Observe != nil && answer.name == (protocol.Reshard{}).Name() {
		m.Observe(&Event{Kind: Resharded, At: time.Now(), Config: *m.effective.job, Instance: m.self})
	}
	if outcome == follow.ReadOnly {
		m.readOnly(answer.err)
	}
	if outcome == follow.TooLarge || outcome == follow.Denied || outcome == follow.ReadOnly { // it may fail for long
		m.markJoined()
	}
	m.step(in)
}

// readOnly reports that the registry takes no writes. The core receives each such answer:
// rows of instants that pass meanwhile give it as their reason.
func (m *member) readOnly(cause error) {
	m.inbox.put(inputMessage{protocol.ReadOnly{}})
	m.report.readOnly(cause)
}

// syncAfter syncs the session after a pause, retries until that succeeds, and then puts
// the message then into the inbox. It calls readOnly whenever the registry takes no writes.
// All this happens in a goroutine.
func (m *member) syncAfter(pause time.Duration, then message, readOnly func(cause error)) {
	m.life.start(func() {
		if pause > 0 && !session.Sleep(m.life.ctx, pause) {
			return
		}
		for p := new(backoff.Backoff); ; {
			err := m.session.Sync(m.life.ctx)
			if err == nil {
				m.troubles.clear(troubleReadOnly)
				m.inbox.put(then)
				return
			}
			if m.life.ctx.Err() != nil || errors.Is(err, registry.ErrEnded) {
				return // the session's last event follows or was handled already
			}
			if errors.Is(err, registry.ErrReadOnly) {
				readOnly(err)
			}
			m.Log.Debug("the registry does not answer; no run begins", "error", err)
			if !session.Sleep(m.life.ctx, p.Next()) {
				return
			}
		}
	})
}
