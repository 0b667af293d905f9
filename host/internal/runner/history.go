package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// batch is what one effect Store hands over.
type batch struct {
	rows      []protocol.Row
	schedules []protocol.Schedule
}

// history writes a member's rows, in order and one batch at a time. What it
// has not written when the member ends is still in the registry. It has a
// goroutine while there is something to write.
type history struct {
	m *member

	mu      sync.Mutex // guards what follows
	waiting []batch    // bounded by what the member's record holds
	writing bool
}

// maxBatch is how many rows the sink gets at once.
const maxBatch = 1_000

func (h *history) add(b batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, b)
	if !h.writing {
		h.writing = true
		h.m.work.Go(func() { h.run(h.m.life) })
	}
}

func (h *history) take() []batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.waiting
	h.waiting, h.writing = nil, len(b) > 0
	return b
}

func (h *history) run(ctx context.Context) {
	for batches := h.take(); len(batches) > 0; batches = h.take() {
		for _, b := range batches {
			h.m.tell(b.rows, b.schedules)
			for len(b.rows) > 0 {
				n := min(len(b.rows), maxBatch)
				if !h.store(ctx, b.rows[:n], b.schedules) {
					return // the life is over
				}
				b.rows = b.rows[n:]
			}
		}
	}
}

// store writes rows until they are safe, and says so. It returns false if ctx
// ended before.
func (h *history) store(ctx context.Context, rows []protocol.Row, schedules []protocol.Schedule) bool {
	m := h.m
	told := false
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
		if !told {
			told = true
			m.Log.Error("the history cannot be written; rows wait", "rows", len(rows), "error", err)
		}
		if !session.Sleep(ctx, p.Next()) {
			return false
		}
	}
	m.troubles.clear(troubleHistory)
	if told {
		m.Log.Info("the history can be written again")
	}
	for i := range rows {
		m.kept.drop(rows[i].Entry)
	}
	m.inbox.put(inputMessage{protocol.Stored{Upto: rows[len(rows)-1].Seq}})
	return true
}

// giveUp lets go of a row that the history will never take: the log has it.
func (h *history) giveUp(r *protocol.Row, schedules []protocol.Schedule, cause error) {
	m := h.m
	n := m.lostRows.Add(1)
	row, _ := m.row(r, schedules) // what could be told of it
	m.Log.Error("the history refuses a row for good; this is the row", "row", fmt.Sprintf("%+v", row), "error", cause)
	m.troubles.set(troubleRows, fmt.Sprintf("%d since the start, see the log; the newest: %v", n, cause))
}

func (h *history) write(ctx context.Context, rows []protocol.Row, schedules []protocol.Schedule) error {
	out := make([]trace.Row, 0, len(rows))
	for i := range rows {
		if r, ok := h.m.row(&rows[i], schedules); ok {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil
	}
	// A row must not be known before the registry is sure to remember that its
	// instant is accounted for: else, after a loss of power, the instant would
	// be accounted for a second time.
	if err := h.m.line.Persist(ctx); err != nil {
		return fmt.Errorf("have the registry on its disk before rows are stored: %w", err)
	}
	return h.m.sink.write(ctx, h.m.Sink, out)
}

// row turns a fact of the core into a row; false if it says nothing: a gap in
// which the schedule names no instant.
func (l *lives) row(r *protocol.Row, schedules []protocol.Schedule) (trace.Row, bool) {
	row := trace.Row{
		Job: l.Config.Name, Item: r.Item, State: trace.State(r.State), Reason: l.known(r), Instance: string(r.By),
		Cause: trace.Cause(r.Cause), End: r.Ended,
	}
	if r.Gap {
		l.count(&row, r, schedules)
		row.Run, row.Cause = "gap-"+strconv.FormatInt(row.Instant, 10), trace.Schedule
		return row, row.Count > 0
	}
	row.Run, row.Instant, row.Attempt, row.Start = runOf(r.Entry), r.Instant, r.Attempt, r.Begun
	if t, ok := l.kept.get(r.Entry); ok {
		row.TaskID, row.Result, row.Error, row.Digest, row.Fence = t.taskID, t.result, t.fault, t.digest, t.fence
		row.Code, row.HasCode = t.code, t.hasCode
		row.Start, row.End = t.start, t.end
		row.Fuel, row.Succeeded, row.Failed, row.Metrics = t.fuel, t.flow.Succeeded, t.flow.Failed, t.metrics
		row.Log, row.HasLog = t.log, true
	} else if r.Unended() {
		row.End = 0
	}
	if r.Trigger == "" {
		row.Schedule = protocol.CronAt(schedules, r.Instant)
	}
	return row, true
}

// count tells which instants a gap has, by the schedule under which it came about.
// One that cannot be read has none: what the one before it names was missed.
func (l *lives) count(row *trace.Row, r *protocol.Row, schedules []protocol.Schedule) {
	cron := r.Cron
	if cron == "" { // in a record of an older release
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

// runOf is the id of an entry's run within job and item.
func runOf(e protocol.Entry) string {
	if e.Trigger != "" {
		return e.Trigger
	}
	return strconv.FormatInt(e.Instant, 10)
}

// text is what a row carries beyond what the registry keeps.
type text struct {
	result, fault, digest, taskID string
	code                          int32
	hasCode                       bool
	start, end, fence, fuel       int64
	flow                          job.Flow
	metrics                       string // a JSON object
	log                           string // its last lines
}

// keptTexts has the texts of ended guests until their rows are stored. It
// outlives sessions: the row may be written by the next member of this very
// process. Beyond maxTexts it forgets the oldest.
type keptTexts struct {
	mu    sync.Mutex // guards what follows: guests put, the history takes
	texts map[textKey]text
	order []textKey // in which they were put; some are gone meanwhile
	size  int
}

type textKey struct {
	item    int
	run     string
	attempt int
}

// maxTexts bounds the kept texts, in bytes.
const maxTexts = 64 << 20

func keyOf(e protocol.Entry) textKey { return textKey{e.Item, runOf(e), e.Attempt} }

// bytes is about what a text occupies.
func (t text) bytes() int { return 256 + len(t.result) + len(t.fault) + len(t.metrics) + len(t.log) }

// metricsText is the sums of a guest as JSON, or "" for none.
func metricsText(sums map[string]float64) string {
	if len(sums) == 0 {
		return ""
	}
	b, err := json.Marshal(sums)
	if err != nil { // a sum grew beyond the numbers; each addend was one
		return ""
	}
	return string(b)
}

func (k *keptTexts) put(e protocol.Entry, t text) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[textKey]text{}
	}
	key := keyOf(e)
	k.remove(key)
	k.texts[key] = t
	k.size += t.bytes()
	k.order = append(k.order, key)
	for k.size > maxTexts {
		k.remove(k.order[0])
		k.order = k.order[1:]
	}
	if len(k.order) > 2*len(k.texts)+64 {
		k.order = slices.DeleteFunc(k.order, func(key textKey) bool {
			_, there := k.texts[key]
			return !there
		})
	}
}

func (k *keptTexts) remove(key textKey) {
	if t, ok := k.texts[key]; ok {
		k.size -= t.bytes()
		delete(k.texts, key)
	}
}

func (k *keptTexts) get(e protocol.Entry) (text, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.texts[keyOf(e)]
	return t, ok
}

func (k *keptTexts) drop(e protocol.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(keyOf(e))
}

func printable(result []byte) string { return strings.ToValidUTF8(string(result), "\uFFFD") }
