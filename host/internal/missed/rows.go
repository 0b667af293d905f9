// Package missed records the instants that a job missed while no server runs
// it: one row per item, first in the registry and then in a history, each
// exactly once. It runs nothing, and does nothing while the job has a member.
package missed

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Rows converts the rows of one record to rows of a history. It leaves out gaps whose
// schedule is unknown.
func Rows(l layout.Layout, name string, v *protocol.View, of *protocol.RunsData) []trace.Row {
	if len(of.Rows) == 0 {
		return nil
	}
	c := &clock.Clock{}
	config, module := l.Defined(v)
	if known := definition.JobOf(name, config, module); known != nil {
		c.Use(*known)
	}
	var rows []trace.Row
	for k := range of.Rows {
		if row, ok := rowOf(name, &of.Rows[k], of.Schedules, c); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// rowOf converts one row. c computes the first and last instant of a gap, and their number,
// from its schedule. It returns false for a gap whose schedule is unknown or has no instant
// in it.
func rowOf(name string, r *protocol.Row, schedules []protocol.Schedule, c *clock.Clock) (trace.Row, bool) {
	row := trace.Row{
		Job: name, Item: r.Item, Attempt: r.Attempt, State: trace.State(r.State), Reason: r.Why, Instance: string(r.By),
		Cause: trace.Cause(r.Cause), Run: r.Run(), Param: r.Param, Start: r.Begun, End: r.Ended,
	}
	if !r.Gap {
		if r.Unended() { // Ended is only when the row was written
			row.End = 0
		}
		var scheduled bool
		if row.Instant, scheduled = r.RunsFor(); scheduled {
			row.Schedule = protocol.CronAt(schedules, row.Instant)
		}
		return row, true
	}
	var err error
	row.Instant, row.Last, row.Count, err = c.Between(r.Cron, r.After, r.Until)
	row.Run, row.Cause, row.Attempt, row.Schedule = "gap-"+strconv.FormatInt(row.Instant, 10), trace.Schedule, 0, r.Cron
	return row, r.Cron != "" && err == nil && row.Count > 0
}
