package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// replacedUnknowing: a member runs a guest for longer than its session lasts. Its registry
// server is replaced without noticing and goes on answering reads, while another member
// takes the run.
func replacedUnknowing(w *World) driver {
	a, b := w.members[0], w.members[1]
	replaced, reached := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.Begin); !ok || m != a || replaced || !settledIn(w) {
			return
		}
		replaced = true
		w.after(second, func() { w.depose(a) })
		a.readsAgain()
		w.after(12*second, func() { w.cut(a) })
	}, change: func(_, now *protocol.View) {
		if !replaced || b.st == nil {
			return
		}
		if r := recordOf(now, b.st.Self()); r != nil {
			reached = reached || slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Attempt > 1 })
		}
	}}
}

// readsAgain makes the member read everything once a second, as long as the session
// lasts.
func (m *member) readsAgain() {
	life := m.life
	m.w.after(second, func() {
		if m.life == life && m.st != nil {
			m.guard(life, m.loop.Reread)
			m.readsAgain()
		}
	})
}

// openedLate: the service counts the time-out from when it created the session.
func openedLate(w *World) driver {
	reached := false
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		reached = reached || len(now.Instances) > 0
	}}
}
