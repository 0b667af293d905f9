package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// scenariosOfSeeds are histories that chance brought about, once in many
// thousand seeds.
func scenariosOfSeeds() []scenario {
	return []scenario{
		{"a part of the leader before arrives ahead of the next assignment", func(w *World) {
			w.plain(6, 9)
			w.options.MaxNodes = 4
			w.ours(1, 0)
			w.ours(2, -1)
		}, partOfFormerLeader},
	}
}

// partOfFormerLeader: while the first part of a job's first reshard is on its way,
// another one leads, and assigns the items otherwise. The part arrives just ahead
// of that.
func partOfFormerLeader(w *World) steering {
	a, b := w.members[0], w.members[1]
	company, part, reached := false, false, false
	return steering{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		switch mu := mu.(type) {
		case protocol.Owners:
			if m == a && !part && len(mu.Write) > 0 {
				part = true
				w.slowLine(a, 500*millisecond)
				w.jvms[0].freeze() // or it would lead
				w.after(2*second, w.jvms[0].thaw)
				w.after(1, func() {
					w.unseat()
					w.tool(protocol.DisableServer{IP: a.ip, Disabled: true})
				})
			}
		case protocol.Reshard:
			switch {
			case m == a && !company:
				company = true
				w.slowLine(a, 500*millisecond)
				w.theirs("10.0.1.1", 0)
				b.start()
			case m == b && part && !reached:
				reached = true
				w.slowLine(b, 700*millisecond)
			}
		default:
		}
	}}
}
