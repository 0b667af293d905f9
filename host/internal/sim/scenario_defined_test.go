package sim

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// definedScenarios change the definition while a transaction that was decided on the old
// one is on its way.
func definedScenarios() []scenario {
	both := func(w *World) {
		w.plain(1, 9)
		w.ours(1, 0)
		w.ours(2, 5)
	}
	return []scenario{
		{"a job is defined anew while its module is switched", both, definedBefore(func(mu protocol.Mutation) bool {
			_, ok := mu.(protocol.Switch)
			return ok
		})},
		{"a job is defined by two at once", both, definedBefore(func(mu protocol.Mutation) bool {
			_, ok := mu.(protocol.Define)
			return ok
		})},
	}
}

// definedBefore: a member is asked to name another module, and just before its
// transaction arrives an operator names one.
func definedBefore(awaited func(protocol.Mutation) bool) func(*World) driver {
	return func(w *World) driver {
		w.at((1_700_000_000+20)*second, w.defineNext)
		w.at((1_700_000_000+25)*second, func() { w.request(w.members[0], w.nextModule()) })
		reached := false
		return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
			if reached || !awaited(mu) {
				return
			}
			reached = true
			w.slowLine(m, 200*millisecond)
			w.defineNext()
		}}
	}
}

// defineNext is the transaction of an operator who is no member.
func (w *World) defineNext() {
	w.asks++
	define, _ := protocol.Fulfil(w.ledger.v, w.nextModule())
	w.tool(define)
}

// nextModule returns the definition of the job with a next module.
func (w *World) nextModule() protocol.AskDefine {
	v := w.ledger.v
	a := protocol.AskDefine{Definition: protocol.Definition{Config: v.Definition.Config}, Have: v.ConfigVersion, HaveModule: protocol.NoModule}
	if v.HasModule {
		a.HaveModule = v.ModuleVersion
	}
	a.Module = spelling.Text(fmt.Appendf(nil, definitionText, w.asks, a.Have, a.HaveModule, fmt.Sprintf(`,"next":{"name":"m","digest":"%064x"}`, w.asks)))
	return a
}
