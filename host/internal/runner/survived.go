package runner

import (
	"context"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Who reclaims the runs of a member knows that its session is over, and nothing
// else. If the member was an earlier life of this very process, that is here to
// tell: it lost the registry, and how its guests ended and when is in keptTexts.

// survived are the words for what was reclaimed, when it is known that nobody died.
var survived = map[reason.Code]reason.Code{
	reason.ServerGone:             reason.RegistryLost,
	reason.ServerGoneBeforeBegin:  reason.RegistryLostBeforeBegin,
	reason.ServerGoneFailoverOff:  reason.RegistryLostFailoverOff,
	reason.ServerGoneItemGone:     reason.RegistryLostItemGone,
	reason.ServerGoneItemDisabled: reason.RegistryLostItemDisabled,
	reason.ServerGoneNextInstant:  reason.RegistryLostNextInstant,
	reason.ServerGoneAnotherRun:   reason.RegistryLostAnotherRun,
}

// maxFormer bounds how many earlier lives are remembered. What one leaves is
// reclaimed soon after its session.
const maxFormer = 16

// cutLife is what a life had open when its session ended. Of what somebody else answers
// for, this server's own history tells at least how the guest ended.
type cutLife struct {
	by        job.InstanceID
	runs      []protocol.Entry
	schedules []protocol.Schedule
}

// survive notes a life that ended without the registry, and what it had open.
func (l *lives) survive(c cutLife) {
	c.runs = slices.DeleteFunc(c.runs, func(e protocol.Entry) bool {
		t, ok := l.kept.get(e)
		return !ok || t.start == 0 // no guest of it ran
	})
	l.former = append(l.former[max(0, len(l.former)+1-maxFormer):], c.by)
	l.cut = append(l.cut[max(0, len(l.cut)+1-maxFormer):], c)
}

// untold gives the history, as the job ends on this server, the rows of runs of which no
// later life could tell: the server stops before it hears of the registry again. Somebody
// else says what becomes of them, or the next process here. A history that takes none of
// them keeps nothing from ending.
func (l *lives) untold() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.stop), leaveTimeout)
	defer cancel()
	for _, c := range l.cut {
		var rows []trace.Row
		for _, e := range c.runs {
			r := protocol.GoneElsewhere(c.by, e, 0)
			if _, ok := l.kept.get(e); !ok {
				continue // the history has it
			}
			if row, ok := l.row(&r, c.schedules); ok {
				Tell(ctx, l.Log, &row)
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := l.sink.write(ctx, l.Sink, rows); err != nil {
			l.Log.Error("the history cannot be written; what these runs did is not told there", "rows", len(rows), "error", err)
		}
	}
}

// elsewhere gives the history the rows of runs that somebody else answers for. What
// it has got needs none.
func (m *member) elsewhere() {
	for k := range m.cut {
		c := &m.cut[k]
		c.runs = slices.DeleteFunc(c.runs, func(e protocol.Entry) bool {
			_, ok := m.kept.get(e)
			return !ok
		})
		s := m.loop.State().Elsewhere(c.by, c.runs)
		s.Rows = slices.DeleteFunc(s.Rows, func(r protocol.Row) bool { return m.handed[keyOf(r.Entry)] })
		for i := range s.Rows {
			if m.handed == nil {
				m.handed = map[textKey]bool{}
			}
			m.handed[keyOf(s.Rows[i].Entry)] = true
		}
		if len(s.Rows) > 0 {
			m.history.add(batch{s.Rows, s.Schedules})
		}
	}
}

// known is the reason of a row, as far as this process knows better.
func (l *lives) known(r *protocol.Row) reason.Reason {
	if code, ok := survived[r.Why.Code]; ok && slices.Contains(l.former, r.By) {
		return reason.Of(code)
	}
	return r.Why
}
