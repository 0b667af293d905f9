package operator

import (
	"context"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// KeptRow is a row in the registry: on its way to a history, or there already and not
// forgotten yet. It says what became of a run, and has no text of its guest.
type KeptRow struct {
	trace.Row
	By job.InstanceID // the server whose history gets it
}

// Kept are the rows that the registry has of a job or, if name is empty, of all, and
// reports on those jobs as Jobs gives them.
func (o *Operator) Kept(ctx context.Context, name string) ([]KeptRow, []JobReport, error) {
	names := []string{name}
	if name == "" {
		var err error
		if names, err = o.Names(ctx); err != nil {
			return nil, nil, err
		}
	}
	all, err := o.outlines(ctx, names, true)
	var rows []KeptRow
	var reports []JobReport
	for _, of := range all {
		reports = append(reports, *of.report)
		rows = append(rows, of.kept...)
	}
	return rows, reports, err
}

func keptRows(name string, v *protocol.View) []KeptRow {
	c := &clock.Clock{}
	config, module := layout.Defined(v)
	if known := configOf(name, config, module); known != nil {
		c.Use(*known)
	}
	var kept []KeptRow
	for i := range v.Runs {
		of := &v.Runs[i]
		for k := range of.Rows {
			if row, ok := keptRow(name, &of.Rows[k], c); ok {
				kept = append(kept, KeptRow{row, of.ID})
			}
		}
	}
	return kept
}

// keptRow is a row as the history has it; false where that cannot be told: a gap whose
// schedule is not known.
func keptRow(name string, r *protocol.Row, c *clock.Clock) (trace.Row, bool) {
	row := trace.Row{
		Job: name, Item: r.Item, Attempt: r.Attempt, State: trace.State(r.State), Reason: r.Why, Instance: string(r.By),
		Cause: trace.Cause(r.Cause), Instant: r.Instant, Run: r.Trigger, Start: r.Begun, End: r.Ended,
	}
	if row.Run == "" {
		row.Run = strconv.FormatInt(r.Instant, 10)
	}
	if !r.Gap {
		return row, true
	}
	var err error
	row.Instant, row.Last, row.Count, err = c.Between(r.Cron, r.After, r.Until)
	row.Run, row.Cause, row.Attempt, row.Schedule = "gap-"+strconv.FormatInt(row.Instant, 10), trace.Schedule, 0, r.Cron
	return row, r.Cron != "" && err == nil && row.Count > 0
}
