package runner

import (
	"context"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A member that reclaims another member's runs knows only that the other session is over.
// If that session belonged to an earlier member in this process, more is known: the
// server lost the registry but did not die, and resultTexts holds how its guests ended.

// registryLostCodes maps the reasons of reclaimed runs to the ones that apply when the
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

// maxCutOff bounds how many earlier members are remembered. Another member reclaims their
// runs soon after their sessions end.
const maxCutOff = 16

// openRuns are the runs that a member had open when its session ended. Even if another
// member reclaims them, this server's own history records how their guests ended.
type openRuns struct {
	by        job.InstanceID
	runs      []protocol.Entry
	schedules []protocol.Schedule
}

// rememberCutOff records a member that ended without the registry, and those of its open
// runs whose guests ran here. Beyond maxCutOff members it forgets the oldest.
func (l *generations) rememberCutOff(c openRuns) {
	c.runs = slices.DeleteFunc(c.runs, func(e protocol.Entry) bool {
		t, ok := l.results.get(e)
		return !ok || t.start == 0 // its guest never ran here
	})
	l.cutOffIDs = append(l.cutOffIDs[max(0, len(l.cutOffIDs)+1-maxCutOff):], c.by)
	l.cutOff = append(l.cutOff[max(0, len(l.cutOff)+1-maxCutOff):], c)
}

// storeCutOff writes rows of runs that were cut off if the job ends on this server before
// the registry is back: no later member on this server could write them. What becomes of
// these runs is decided by another server, or by the next process here. The job ends even
// if the history takes no rows.
func (l *generations) storeCutOff() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.stop), leaveTimeout)
	defer cancel()
	for _, c := range l.cutOff {
		var rows []trace.Row
		for _, e := range c.runs {
			r := protocol.GoneElsewhere(c.by, e, 0)
			if _, ok := l.results.get(e); !ok {
				continue // the history has the row, so the result was dropped
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
			l.Log.Error("the history cannot be written; the results of these runs are missing there", "rows", len(rows), "error", err)
		}
	}
}

// storeAnsweredElsewhere writes rows of cut-off runs that another member has reclaimed, as
// the newest view shows. Runs whose row is stored already need none: their results were
// dropped then.
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

// reasonOfRow returns the reason of a row, corrected by what only this process knows.
func (l *generations) reasonOfRow(r *protocol.Row) reason.Reason {
	if code, ok := registryLostCodes[r.Why.Code]; ok && slices.Contains(l.cutOffIDs, r.By) {
		return reason.Of(code)
	}
	return r.Why
}
