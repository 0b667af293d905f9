package runner

import (
	"context"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Precedence says how far the jobs before this one have come.
type Precedence struct {
	Instants []int64         // instants at which all of them have succeeded, ascending
	Why      []reason.Reason // what is wrong with them or with their last runs
}

// precedence is a member's subscription to the jobs before this one.
type precedence struct {
	names []string
	end   context.CancelFunc // nil if there are no such jobs
}

// followBefore follows the jobs that the configuration in force names in after, and no
// longer those that an earlier configuration named.
func (m *member) followBefore() {
	names := m.effective.job.After
	if slices.Equal(names, m.before.names) || m.Precede == nil {
		return
	}
	if m.before.end != nil {
		m.before.end()
		m.troubles.clear(troubleAfter)
		m.step(protocol.Preceded{Off: true})
	}
	m.before = &precedence{names: names}
	if len(names) == 0 {
		return
	}
	ctx, end := context.WithCancel(m.life.ctx)
	before := m.before
	before.end = end
	m.step(protocol.Preceded{}) // nothing is known of them yet
	m.life.start(func() {
		m.Precede(ctx, names, func(p Precedence) { m.inbox.put(precededMessage{before, p}) })
	})
}

// preceded passes news of the jobs before this one to the core, unless the configuration
// names other jobs by now. It logs a reason to wait only when that is new.
func (m *member) preceded(msg precededMessage) {
	if msg.by != m.before {
		return
	}
	for _, why := range msg.Why {
		if !slices.ContainsFunc(m.troubles.of(troubleAfter), func(r reason.Reason) bool { return r.Key() == why.Key() && r.String() == why.String() }) {
			m.Log.Warn("the job waits for one before it", "reason", why.String(), "reason_code", why.Code)
		}
	}
	m.troubles.because(troubleAfter, msg.Why)
	m.step(protocol.Preceded{Instants: msg.Instants})
}
