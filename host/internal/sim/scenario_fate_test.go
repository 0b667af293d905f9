package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Scenarios of answers other than applied and conflict.

func fateScenarios() []scenario {
	one := func(w *World) {
		w.plain(4, 20)
		w.ours(1, 0).timeout = 60 * second
	}
	return []scenario{
		{"a begin has no answer, and what it changed is not told", one, begunUnheard},
		{"a begin has no answer from a server of the registry that was replaced", one, begunByReplaced},
		{"a trigger has no answer", func(w *World) {
			one(w)
			w.ours(2, 5)
		}, triggeredUnanswered},
		{"a begin is not permitted for a while", one, begunDenied},
		{"a begin is larger than the registry takes", one, begunTooLarge},
	}
}

// begunUnheard: a member learns the outcome of an unanswered transaction by reading, and
// not from events or from the refusal of its next transaction.
func begunUnheard(w *World) driver {
	reached := false
	return driver{reached: &reached, fate: func(m *member, mu protocol.Mutation) *fate {
		if reached {
			if r := recordOf(m.st.View(), m.st.Self()); r == nil || len(r.Open) == 0 && len(recordOf(w.ledger.v, m.st.Self()).Open) > 0 {
				w.breach("outcome", "%s sends %s and has not seen what it has begun", m.name(), describe(mu))
			}
			return nil
		}
		if _, ok := mu.(protocol.Begin); !ok || !settledIn(w) {
			return nil
		}
		reached = true
		return &fate{err: registry.ErrUnknown, applied: true, unheard: true}
	}}
}

// begunByReplaced: the server holds the transaction, and may still apply it. That its reads
// do not show it proves nothing.
func begunByReplaced(w *World) driver {
	reached, alone := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if alone {
			w.breach("outcome", "%s sends %s before the outcome of the one before is settled", m.name(), describe(mu))
		}
		if _, ok := mu.(protocol.Begin); !ok || reached || !settledIn(w) {
			return
		}
		reached, alone = true, true
		w.depose(m)
		w.after(second, func() { m.guard(m.life, m.unanswered) })
		w.after(5*second, func() {
			alone = false
			w.reinstate(m)
		})
	}}
}

// triggeredUnanswered: the caller gets the error, though the request was accepted. To
// write it again would run the job twice.
func triggeredUnanswered(w *World) driver {
	reached := false
	w.at((1_700_000_000+26)*second, func() { w.tool(protocol.DisableServer{IP: w.members[0].ip, Disabled: true}) })
	w.at((1_700_000_000+30)*second, func() { w.request(w.members[0], protocol.AskTrigger{}) })
	return driver{reached: &reached, fate: func(m *member, mu protocol.Mutation) *fate {
		if _, ok := mu.(protocol.RequestTrigger); !ok {
			return nil
		}
		if reached {
			w.breach("outcome", "%s writes the trigger again", m.name())
		}
		reached = true
		return &fate{err: registry.ErrUnknown, applied: true, late: second}
	}}
}

// begunDenied: a denied begin is tried again until it is permitted, with longer and
// longer pauses.
func begunDenied(w *World) driver {
	reached, tries := false, 0
	return driver{reached: &reached, fate: func(m *member, mu protocol.Mutation) *fate {
		if _, ok := mu.(protocol.Begin); !ok || !settledIn(w) || w.now > (1_700_000_000+50)*second {
			return nil
		}
		reached = true
		if tries++; tries > 20 {
			w.breach("no busy wait", "%s tries for the %d. time what is not permitted", m.name(), tries)
		}
		return &fate{err: registry.ErrDenied}
	}}
}

// begunTooLarge: after a begin that was too large, the next one has fewer items.
func begunTooLarge(w *World) driver {
	reached, tries := false, 0
	return driver{reached: &reached, fate: func(m *member, mu protocol.Mutation) *fate {
		b, ok := mu.(protocol.Begin)
		if !ok || !settledIn(w) {
			return nil
		}
		if len(b.Begun) > 2 {
			if tries++; tries > 5 {
				w.breach("size", "%s tries for the %d. time what is larger than the registry takes", m.name(), tries)
			}
			return &fate{err: registry.ErrTooLarge}
		}
		reached = reached || len(b.Begun) > 0
		return nil
	}}
}
