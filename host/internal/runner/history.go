package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// batch holds the rows of one effect Store.
type batch struct {
	rows      []protocol.Row
	schedules []protocol.Schedule
	news      []protocol.Row   // the rows to report
	errors    job.ErrorHandler // the job's setting when the rows came
	reported  bool             // news was reported
}

// history writes a member's rows in order, one batch at a time. Rows that are not written
// when the member ends are still in the registry. It has a goroutine only while there is
// something to write.
type history struct {
	member *member
	once   map[attemptKey]bool // the rows that addOnce has added; used only by the loop

	mu      sync.Mutex // guards the fields below
	waiting []batch    // bounded by what the member's record holds
	writing bool       // a goroutine writes
}

// maxRowsAtOnce is the largest number of rows that the sink gets in one call.
const maxRowsAtOnce = 1_000

// add queues a batch, and starts the goroutine that writes unless there is one.
func (h *history) add(b batch) {
	b.news, b.errors = h.member.unreported(b.rows), h.member.effective.job.ErrorHandler
	h.member.unstored.Add(int64(len(b.rows)))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, b)
	if !h.writing {
		h.writing = true
		h.member.life.start(func() { h.writeWaiting(h.member.life.ctx) })
	}
}

// addOnce adds rows of runs that another member has reclaimed, unless it has added them
// before.
func (h *history) addOnce(b batch) {
	b.rows = slices.DeleteFunc(b.rows, func(r protocol.Row) bool { return h.once[attemptKeyOf(r.Entry)] })
	if len(b.rows) == 0 {
		return
	}
	if h.once == nil {
		h.once = map[attemptKey]bool{}
	}
	for i := range b.rows {
		h.once[attemptKeyOf(b.rows[i].Entry)] = true
	}
	h.add(b)
}

// takeWaiting takes all batches that wait. If there are none, the goroutine that writes must
// end.
func (h *history) takeWaiting() []batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.waiting
	h.waiting, h.writing = nil, len(b) > 0
	return b
}

// writeWaiting writes and reports batches until none waits or the member has ended.
func (h *history) writeWaiting(ctx context.Context) {
	for batches := h.takeWaiting(); len(batches) > 0; batches = h.takeWaiting() {
		for i := range batches { // all of them, as the history may refuse the first for long
			if !batches[i].reported {
				h.member.reportRows(&batches[i])
			}
		}
		for _, b := range batches {
			for len(b.rows) > 0 {
				n := min(len(b.rows), maxRowsAtOnce)
				if !h.store(ctx, b.rows[:n], b.schedules) {
					return // the member has ended
				}
				b.rows = b.rows[n:]
			}
		}
	}
}

// reportWaiting reports rows that have come while the history takes none.
func (h *history) reportWaiting() {
	h.mu.Lock()
	waiting := slices.Clone(h.waiting)
	for i := range h.waiting {
		h.waiting[i].reported = true
	}
	h.mu.Unlock()
	for _, b := range waiting {
		if !b.reported {
			h.member.reportRows(&b)
		}
	}
}

// store retries to write rows until the history has them, and then notifies the core. It
// returns false if ctx ended first. If the history refuses one of the rows for good
// (trace.ErrRow), store writes each alone, so that only that row is lost.
func (h *history) store(ctx context.Context, rows []protocol.Row, schedules []protocol.Schedule) bool {
	m := h.member
	logged := false
	for p := new(backoff.Backoff); ; {
		err := h.write(ctx, rows, schedules)
		if err == nil {
			break
		}
		if errors.Is(err, trace.ErrRow) {
			if len(rows) == 1 {
				h.giveUp(&rows[0], schedules, err)
				break
			}
			for i := range rows {
				if !h.store(ctx, rows[i:i+1], schedules) {
					return false
				}
			}
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		m.troubles.set(troubleHistory, err.Error())
		if !logged {
			logged = true
			m.Log.Error("the history cannot be written; rows wait", "rows", len(rows), "error", err)
		}
		h.reportWaiting()
		if !session.Sleep(ctx, p.Next()) {
			return false
		}
	}
	m.troubles.clear(troubleHistory)
	if logged {
		m.Log.Info("the history can be written again")
	}
	m.unstored.Add(-int64(len(rows)))
	for i := range rows {
		m.results.drop(rows[i].Entry)
	}
	m.inbox.put(inputMessage{protocol.Stored{Upto: rows[len(rows)-1].Seq}})
	return true
}

// giveUp logs a row that the history refuses for good. The log is then the only place
// that has it.
func (h *history) giveUp(r *protocol.Row, schedules []protocol.Schedule, cause error) {
	m := h.member
	n := m.lostRows.Add(1)
	row, _ := m.row(r, schedules) // as complete as it is known
	m.Log.Error("the history refuses a row permanently", "row", fmt.Sprintf("%+v", row), "error", cause)
	m.troubles.set(troubleRows, fmt.Sprintf("%d since the start, see the log; the newest: %v", n, cause))
}

// write tries once to write rows.
func (h *history) write(ctx context.Context, rows []protocol.Row, schedules []protocol.Schedule) error {
	out := make([]trace.Row, 0, len(rows))
	for i := range rows {
		if r, ok := h.member.row(&rows[i], schedules); ok {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil
	}
	// A row must not be stored before the registry has made durable that the row's
	// instant is accounted for. Otherwise a power failure could have the instant
	// accounted for a second time.
	if err := h.member.session.Persist(ctx); err != nil {
		return fmt.Errorf("have the registry on its disk before rows are stored: %w", err)
	}
	return h.member.sink.write(ctx, h.member.Sink, out)
}

// row converts a row of the core to one of the history. It returns false for a gap that
// contains no instant of the schedule.
func (l *generations) row(r *protocol.Row, schedules []protocol.Schedule) (trace.Row, bool) {
	row := trace.Row{
		Job: l.Config.Name, Item: r.Item, State: trace.State(r.State), Reason: l.reasonOfRow(r), Instance: string(r.By),
		Cause: trace.Cause(r.Cause), End: r.Ended,
	}
	if r.Gap {
		l.countInstants(&row, r, schedules)
		// A gap has no run, so its row is named after its first instant.
		row.Run, row.Cause = "gap-"+strconv.FormatInt(row.Instant, 10), trace.Schedule
		return row, row.Count > 0
	}
	instant, scheduled := r.RunsFor()
	row.Run, row.Instant, row.Attempt, row.Start, row.Param = r.Run(), instant, r.Attempt, r.Begun, r.Param
	if t, ok := l.results.get(r.Entry); ok {
		row.TaskID, row.Result, row.Error, row.Digest, row.Fence = t.taskID, t.result, t.fault, t.digest, t.fence
		row.Code, row.HasCode = t.code, t.hasCode
		row.Start, row.End = t.start, t.end
		row.Fuel, row.Succeeded, row.Failed, row.Metrics = t.fuel, t.flow.Succeeded, t.flow.Failed, t.metrics
		row.Log, row.HasLog = t.log, true
	} else if r.Unended() {
		row.End = 0
	}
	if scheduled {
		row.Schedule = protocol.CronAt(schedules, instant)
	}
	return row, true
}

// countInstants fills in which instants a gap has, by the schedule of that time. schedules
// are the job's schedules, the newest last. An unreadable schedule had no instants; then the
// one before it counts.
func (l *generations) countInstants(row *trace.Row, r *protocol.Row, schedules []protocol.Schedule) {
	cron := r.Cron
	if cron == "" { // the record is from an older release
		cron = protocol.CronAt(schedules, r.Until)
	}
	for cron != "" {
		first, last, n, err := l.Clock.Between(cron, r.After, r.Until)
		if err == nil {
			row.Instant, row.Last, row.Count, row.Schedule = first, last, n, cron
			return
		}
		row.Reason = reason.Of(reason.ScheduleUnreadable)
		k := slices.IndexFunc(schedules, func(s protocol.Schedule) bool { return s.Cron == cron })
		if k < 1 {
			return
		}
		cron = schedules[k-1].Cron
	}
}
