package runner

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Runs that did not end well are also logged as soon as the core has their row, because
// the history may be the part that cannot be written.

// rowLevel says how rows of a state are logged. Rows without a message are not logged
// here.
type rowLevel struct {
	level   slog.Level
	message string
}

var rowLevels = map[trace.State]rowLevel{
	trace.Failed:      {slog.LevelError, "a run failed"},
	trace.TimedOut:    {slog.LevelError, "a run timed out"},
	trace.Interrupted: {slog.LevelError, "a run was interrupted and is not repeated"},
	trace.Lost:        {slog.LevelError, "it is unknown whether a run has ended"},
	trace.Retried:     {slog.LevelWarn, "an attempt ended, and another follows"},
	trace.TakenOver:   {slog.LevelWarn, "a run was taken over"},
	trace.Missed:      {slog.LevelWarn, "instants were missed"},
	trace.Cancelled:   {slog.LevelWarn, "a run was cancelled"},
}

// reportRows logs the rows of runs that did not end well, and reports all of them to Observe.
func (m *member) reportRows(b *batch) {
	for i := range b.news {
		if m.Observe == nil && rowLevels[trace.State(b.news[i].State)].message == "" {
			continue
		}
		row, ok := m.row(&b.news[i], b.schedules)
		if !ok {
			continue
		}
		LogRow(m.life.ctx, m.Log, &row, b.errors)
		if m.Observe != nil {
			m.Observe(&Event{Kind: NewRow, At: time.Now(), Row: &row})
		}
	}
}

// unreported returns the rows that have not been reported, as far as this member can know.
// A member that reclaims a record also gets rows from it that the history has already. The
// member that wrote the record has reported all of them that are older than reportedWithin.
func (m *member) unreported(rows []protocol.Row) []protocol.Row {
	old := time.Now().Add(-reportedWithin).UnixMilli()
	reported := func(r protocol.Row) bool { return r.By != m.self && r.Ended != 0 && r.Ended < old }
	if !slices.ContainsFunc(rows, reported) {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), reported)
}

// reportedWithin is the longest time that a member takes to report a row that it has
// made. It is far less unless the history hangs.
const reportedWithin = time.Minute

// LogRow logs the row of a run that did not end well. errors is the job's setting of how
// its failures are logged.
func LogRow(ctx context.Context, log *slog.Logger, row *trace.Row, errors job.ErrorHandler) {
	how := rowLevels[row.State]
	if how.message == "" {
		return
	}
	failed := row.State == trace.Failed || row.State == trace.TimedOut || row.State == trace.Retried
	if isOrdered(row.Reason.Code) || failed && errors == job.IgnoreErrors {
		how.level = slog.LevelInfo
	}
	log.LogAttrs(ctx, how.level, how.message, attrsOf(row)...) //nolint:sloglint // it is one for each state
}

// isOrdered reports whether the reason is the will of an operator or of the configuration, and
// no fault.
func isOrdered(c reason.Code) bool {
	return slices.Contains([]reason.Code{
		reason.JobPaused, reason.ItemDisabled, reason.ServerDisabled, reason.NotBegunServerDisabled, reason.StopOrdered,
		reason.RunCancelled, reason.ShuttingDown, reason.ReplacedByTrigger, reason.ReplacedByNextRun,
	}, c)
}

// attrsOf returns the attributes with which a row is logged. A gap has a number of instants
// instead of a run.
func attrsOf(r *trace.Row) []slog.Attr {
	attrs := []slog.Attr{slog.Int("item", r.Item)}
	if r.Count > 0 {
		attrs = append(attrs, slog.Int64("instants", r.Count), slog.Time("first", time.UnixMilli(r.Instant)), slog.Time("last", time.UnixMilli(r.Last)))
	} else {
		attrs = append(attrs, slog.String("run", r.Job+"/"+strconv.Itoa(r.Item)+"/"+r.Run), slog.Int("attempt", r.Attempt), slog.Time("instant", time.UnixMilli(r.Instant)))
	}
	if r.Error != "" {
		attrs = append(attrs, slog.String("error", r.Error))
	}
	if !r.Reason.None() {
		attrs = append(attrs, slog.String("reason", r.Reason.String()), slog.String("reason_code", string(r.Reason.Code)))
	}
	if r.Start != 0 && r.End >= r.Start && r.Count == 0 {
		attrs = append(attrs, slog.Int64("duration_ms", r.End-r.Start))
	}
	return append(attrs, slog.String("instance", r.Instance))
}
