package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
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
	by   job.InstanceID
	runs []protocol.Entry
}

// survive notes a life that ended with its session, and what it had open.
func (l *lives) survive(self job.InstanceID, open []protocol.Entry) {
	l.former = append(l.former[max(0, len(l.former)+1-maxFormer):], self)
	l.cut = append(l.cut[max(0, len(l.cut)+1-maxFormer):], cutLife{self, slices.DeleteFunc(open, func(e protocol.Entry) bool {
		t, ok := l.kept.get(e)
		return !ok || t.start == 0 // no guest of it ran
	})})
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
