package runner

import (
	"context"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A member that reclaims the runs of another knows only that the other's session is
// over. If that was an earlier member of this very process, this process knows more:
// it lost the registry but did not die, and resultTexts has how its guests ended.

// registryLostCodes maps the reasons of reclaimed runs to those that hold when the
// server is known to be alive.
var registryLostCodes = map[reason.Code]reason.Code{
	reason.ServerGone:             reason.RegistryLost,
	reason.ServerGoneBeforeBegin:  reason.RegistryLostBeforeBegin,
	reason.ServerGoneFailoverOff:  reason.RegistryLostFailoverOff,
	reason.ServerGoneItemGone:     reason.RegistryLostItemGone,
	reason.ServerGoneItemDisabled: reason.RegistryLostItemDisabled,
	reason.ServerGoneNextInstant:  reason.RegistryLostNextInstant,
	reason.ServerGoneAnotherRun:   reason.RegistryLostAnotherRun,
}

// maxCutOff bounds how many earlier members are remembered. The runs of one are
// reclaimed soon after its session.
const maxCutOff = 16

// openRuns are the runs that a member had open when its session ended. Even where
// another member reclaims them, this server's own history gets how the guests ended.
type openRuns struct {
	by        job.InstanceID
	runs      []protocol.Entry
	schedules []protocol.Schedule
}

// rememberCutOff records a member that ended without the registry, and its open runs.
func (l *generations) rememberCutOff(c openRuns) {
	c.runs = slices.DeleteFunc(c.runs, func(e protocol.Entry) bool {
		t, ok := l.results.get(e)
		return !ok || t.start == 0 // its guest never ran here
	})
	l.cutOffIDs = append(l.cutOffIDs[max(0, len(l.cutOffIDs)+1-maxCutOff):], c.by)
	l.cutOff = append(l.cutOff[max(0, len(l.cutOff)+1-maxCutOff):], c)
}

// storeCutOff writes rows of the runs that were cut off, when the job ends on this
// server before the registry is back: no later member here could write them. Another
// server, or the next process here, decides what becomes of these runs. If the history
// takes no rows, the job ends all the same.
func (l *generations) storeCutOff() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.stop), leaveTimeout)
	defer cancel()
	for _, c := range l.cutOff {
		var rows []trace.Row
		for _, e := range c.runs {
			r := protocol.GoneElsewhere(c.by, e, 0)
			if _, ok := l.results.get(e); !ok {
				continue // the history has it
			}
			if row, ok := l.row(&r, c.schedules); ok {
				LogRow(ctx, l.Log, &row, job.LogErrors)
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := l.sink.write(ctx, l.Sink, rows); err != nil {
			l.Log.Error("the history cannot be written; what these runs did is missing there", "rows", len(rows), "error", err)
		}
	}
}

// storeAnsweredElsewhere writes rows of the runs that were cut off and that another
// member has reclaimed. Runs whose row is stored already need none.
func (m *member) storeAnsweredElsewhere() {
	for k := range m.cutOff {
		c := &m.cutOff[k]
		c.runs = slices.DeleteFunc(c.runs, func(e protocol.Entry) bool {
			_, ok := m.results.get(e)
			return !ok
		})
		s := m.loop.State().Elsewhere(c.by, c.runs)
		m.history.addOnce(batch{rows: s.Rows, schedules: s.Schedules})
	}
}

// reasonOfRow returns why a row is as it is, by what this process knows in addition.
func (l *generations) reasonOfRow(r *protocol.Row) reason.Reason {
	if code, ok := registryLostCodes[r.Why.Code]; ok && slices.Contains(l.cutOffIDs, r.By) {
		return reason.Of(code)
	}
	return r.Why
}
