package runner

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// askStrategy runs the strategy in a goroutine and passes what it assigns to the core. A
// newer call ends the one before, which then reports no failure.
func (m *member) askStrategy(r protocol.AssignRequest) {
	ctx, end := m.calls.strategy.begin(m.life.ctx)
	c, self := *m.effective.job, m.loop.State().Self()
	if r.Shared {
		c.StrategyModule, c.StrategyDigest = "", "" // a leader of ElasticJob does not know modules and would assign otherwise
	}
	m.life.start(func() {
		defer end()
		in := protocol.Assigned{Request: r}
		items, err := m.Assigner.Assign(ctx, c, r)
		if in.Items = items; err != nil && items == nil {
			in.Fault = err.Error()
		}
		if ctx.Err() == nil {
			m.reportStrategy(Event{Kind: StrategyFault, At: time.Now(), Config: c, Instance: self}, err, items == nil)
		}
		m.inbox.put(inputMessage{in})
	})
}

// reportStrategy reports a strategy that failed: items run on servers that it did not
// choose. kept means that the old assignment stays.
func (m *member) reportStrategy(e Event, err error, kept bool) {
	if err == nil {
		m.troubles.clear(troubleStrategy)
		return
	}
	code := reason.StrategyFailedEvenly
	if kept {
		code = reason.StrategyFailedKept
	}
	e.Reason = reason.Of(code, err.Error())
	m.Log.Error("the sharding strategy failed", "code", code, "error", err)
	m.troubles.set(troubleStrategy, e.Reason.String())
	if m.Observe != nil {
		m.Observe(&e)
	}
}
