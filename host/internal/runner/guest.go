package runner

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// defaultGrace is how long a guest that was asked to stop may take.
	defaultGrace = 2 * time.Second
	// deadlineSlack is added to the grace at a deadline: the code that runs the guest
	// watches the deadline, too, and knows better what was cut short.
	deadlineSlack = time.Second
)

// graceOf returns how long a guest of a job that was asked to stop may take.
func graceOf(c *job.Config) time.Duration {
	if c.Limits.Grace <= 0 {
		return defaultGrace
	}
	return c.Limits.Grace
}

// guest is an attempt that runs, or waits until it may run.
type guest struct {
	member *member
	call   job.Call
	lines  *runlog.Lines // the lines that it has logged
	entry  protocol.Entry
	end    context.CancelFunc // ends its context; see kill
	grace  time.Duration      // how long it may take after it was asked to stop
	reason atomic.Int32       // a job.StopReason
	asked  chan struct{}      // closed when it was asked to stop

	places Slots           // the job's slots when it began
	worker *workers.Worker // nil if the number of guests is unbounded

	// mu guards the fields up to watch: loop, deadline and guest use them.
	mu       sync.Mutex
	why      reason.Reason
	timer    *time.Timer // kills when the grace is over
	done     bool        // it can no longer be asked to stop
	returned bool        // its code and Observe have returned
	watch    *time.Timer // reports a guest that ignores its end; nil if it was not ended

	overstaying    sync.Mutex // held during that report; guards overstaysSince
	overstaysSince time.Time  // when it was ended; zero if it was not reported
}

// askToStop asks the guest to stop, and kills it when its grace is over. Only the first
// reason is recorded.
func (g *guest) askToStop(stop job.StopReason, why reason.Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done || g.timer != nil {
		return
	}
	g.why = why
	g.reason.Store(int32(stop))
	close(g.asked)
	wait := g.grace
	if stop == job.StopDeadline {
		wait += deadlineSlack
	}
	g.timer = time.AfterFunc(wait, g.kill)
}

// finish returns why the guest was asked to stop, if it was. From now on it cannot be asked,
// as its code has returned or will not run.
func (g *guest) finish() (job.StopReason, reason.Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	if g.timer != nil {
		g.timer.Stop()
	}
	return g.stopReason(), g.why
}

func (g *guest) stopReason() job.StopReason { return job.StopReason(g.reason.Load()) }

// startGuest starts the guest of a run in its own goroutine, as the core has decided. The
// guest may still wait there; its end comes to the loop as a message.
func (m *member) startGuest(e protocol.Run) {
	call := m.callOf(e)
	if m.places == nil {
		m.places = NewSlots(m.maxBegun(&call.Config))
	}
	ctx, end := context.WithCancel(m.life.ctx)
	g := &guest{member: m, call: call, entry: e.Entry, end: end, grace: graceOf(&call.Config), asked: make(chan struct{}), places: m.places}
	if g.worker = m.newWorker(&call.Config); g.worker != nil {
		g.call.Worker = g.worker
	}
	g.call.Why = m.stopQuery(g)
	g.call.Log, g.lines = m.Logs.Begin(g.call.Log, g.call.RunID, g.call.Attempt)
	m.guests.add(g)
	leave := m.fenceGuest(g) // before its goroutine, so that there is no moment without the fence
	m.life.start(func() {
		defer end()
		defer m.Logs.End(g.lines)
		how := m.runAttempt(ctx, g)
		g.markReturned()
		leave()
		m.inbox.ended(how)
	})
}

// stretch grows the stack of a new goroutine to the least that a turn or a guest needs.
// Otherwise the stack would grow in steps and be copied at each: if a hundred guests
// start at once, those copies are a fifth of the work.
//
//go:noinline
func stretch() {
	var room [10 << 10]byte
	runtime.KeepAlive(&room)
}

// stopReasonOf returns the stop reason of a guest that the core cancels in response to the
// input in. A guest sees only whether the session is the cause.
func stopReasonOf(in protocol.Input) job.StopReason {
	_, doubted := in.(protocol.Doubted)
	_, lost := in.(protocol.SessionLost)
	if doubted || lost {
		return job.StopSessionLost
	}
	return job.StopShutdown
}

// runAttempt waits until the guest may begin, runs it, reports start and end to Observe,
// and puts the texts for the row into results. It returns the core's input about the end.
func (m *member) runAttempt(ctx context.Context, g *guest) protocol.End {
	in := protocol.End{Entry: g.entry}
	leave, ok := g.admit(ctx)
	if !ok {
		_, in.Why = g.finish()
		in.State = protocol.Cancelled
		m.results.put(g.entry, resultText{taskID: g.call.TaskID, fence: g.call.Fence, end: time.Now().UnixMilli()}) // it never started
		return in
	}
	stretch() // not earlier: very many guests may be waiting
	began := time.Now()
	g.lines.Began(began)
	m.reportEvent(g, began, nil, nil)
	if limit := g.call.Config.Timeout; limit > 0 {
		deadline := time.AfterFunc(limit, func() { g.askToStop(job.StopDeadline, reason.Reason{}) })
		defer deadline.Stop()
	}
	out := m.callGuest(ctx, &g.call)
	leave()
	stop, why := g.finish()
	in.Flow = protocol.Flow{Succeeded: out.Flow.Succeeded, Failed: out.Flow.Failed}
	in.State, in.Asked = rowStateOf(out.Verdict, stop), out.Verdict == job.Retryable
	if in.State == protocol.Cancelled {
		in.Why = why
	}
	ended := time.Now()
	m.results.put(g.entry, resultText{
		result: printable(out.Result), fault: out.Error, code: out.Code, hasCode: out.HasCode, digest: out.Digest, taskID: g.call.TaskID,
		start: began.UnixMilli(), end: ended.UnixMilli(), fence: g.call.Fence,
		fuel: out.Fuel, flow: out.Flow, metrics: metricsText(out.Metrics), log: g.lines.Kept(),
	})
	m.reportEvent(g, ended, &in, &out)
	return in
}

// callGuest runs a guest. A panic of a job written in Go becomes its outcome.
func (m *member) callGuest(ctx context.Context, c *job.Call) (out job.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = job.Outcome{Verdict: job.Failure, Error: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return m.Guests.Run(ctx, *c)
}

// rowStateOf returns the state of the row of an attempt, from its verdict and the reason
// with which it was asked to stop. A guest that was asked to stop and did not succeed counts
// as stopped, whatever its verdict says.
func rowStateOf(v job.Verdict, asked job.StopReason) protocol.RowState {
	switch {
	case v == job.Deadline, asked == job.StopDeadline:
		return protocol.TimedOut
	case v == job.OK:
		return protocol.Succeeded
	case v == job.Nothing:
		return protocol.Skipped
	case v == job.Stopped, asked != job.Continue:
		return protocol.Cancelled
	}
	return protocol.Failed
}

// reportEvent reports the start of the guest to Observe or, if how and out are set, its
// end.
func (m *member) reportEvent(g *guest, at time.Time, how *protocol.End, out *job.Outcome) {
	if m.Observe == nil {
		return
	}
	e := Event{
		Kind: Start, At: at, Config: g.call.Config, Item: g.entry.Item, TaskID: g.call.TaskID, Parameter: g.call.ItemParam,
		Scheduled: g.call.Scheduled, Instance: g.call.Instance, Cause: trace.Cause(g.entry.Cause), Run: g.call.RunID, Attempt: g.entry.Attempt,
		State: trace.Running,
	}
	if how != nil {
		e.Kind, e.State, e.Reason, e.Outcome = End, trace.State(how.State), how.Why, *out
	}
	m.Observe(&e)
}
