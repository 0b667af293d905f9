package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// missedScenarios have instants that came while no server was there.
func missedScenarios() []scenario {
	return []scenario{
		{"an instant comes while nobody is there, and none comes after it", func(w *World) {
			w.plain(4, 20)
			w.ours(1, 0)
			w.ours(2, 3)
			w.ours(1, -1)
			w.ours(2, -1)
		}, missedByAll},
	}
}

// missedByAll: a member that comes sees no further instant, as in a job that is removed
// before, or that runs once a day.
func missedByAll(w *World) driver {
	a, b, c, d := w.members[0], w.members[1], w.members[2], w.members[3]
	dead, reached := false, false
	return driver{reached: &reached, sending: func(_ *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.Complete); !ok || dead || !settledIn(w) {
			return
		}
		dead = true
		w.after(2*second, func() {
			a.dies()
			b.dies()
		})
		back := w.untilTick(nil) + 3*second
		w.after(back, func() { w.noTicks = true })
		w.after(back, c.start)
		w.after(back+100*millisecond, d.start)
	}, change: func(_, now *protocol.View) {
		reached = reached || w.noTicks && len(now.Members) == 2
	}}
}
