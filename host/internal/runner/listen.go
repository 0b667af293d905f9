package runner

import (
	"context"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/runlog"
)

// callListener calls the listener for an event of a fire: all items have begun it, or have
// ended it. Only one server does so. The call is not a run of an item, so it takes no slot.
// A failure is logged and has no other effect.
func (m *member) callListener(e protocol.Listen) {
	c, self := *m.effective.job, m.loop.State().Self()
	call := job.Call{
		Config: c, Instance: self, TaskID: m.taskID(c.Name, nil), Total: c.Shards, Event: job.Event(e.Event),
		RunID:   c.Name + "/" + string(e.Event) + "/" + strconv.FormatInt(e.Instant, 10),
		Attempt: e.Attempt, Scheduled: time.UnixMilli(e.Instant), Fence: e.Fence,
	}
	// Without Logs, since only runs have lines that callers follow.
	call.Log, _ = (*runlog.Logs)(nil).Begin(m.guestLog(), call.RunID, call.Attempt)
	if r := e.Results; r.Instant != 0 {
		call.Results = &job.FireResults{Succeeded: r.Succeeded, Failed: r.Failed, Skipped: r.Skipped}
	}
	var ctx context.Context
	var end context.CancelFunc
	if c.Timeout > 0 { // the code that runs the guest watches the deadline, and gives it the grace
		ctx, end = context.WithTimeout(m.life.ctx, c.Timeout+graceOf(&c)+deadlineSlack)
	} else {
		ctx, end = context.WithCancel(m.life.ctx)
	}
	m.calls.listener.cancel = end
	leave := m.inbox.fence.add(&fenced{end: end})
	m.life.start(func() {
		defer end()
		defer leave()
		out := m.callGuest(ctx, &call)
		if out.Verdict != job.OK && out.Verdict != job.Nothing {
			m.Log.Warn("listener failed", "listener", e.Event, "instant", call.Scheduled, "attempt", e.Attempt, "verdict", out.Verdict, "code", out.Code, "error", out.Error)
		}
		m.inbox.put(inputMessage{protocol.CallEnded{Event: e.Event, Instant: e.Instant, Attempt: e.Attempt}})
	})
}
