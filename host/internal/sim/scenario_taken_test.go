package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// takenTooLate: a member was in the queue when failover was switched off, and takes a run
// that no member follows any more.
func takenTooLate(w *World) driver {
	p, a := w.jvms[0], w.members[0]
	reached := false
	w.at((1_700_000_000+30)*second, func() {
		w.config.Failover = false
		w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())})
	})
	w.at((1_700_000_000+30)*second+100*millisecond, func() {
		reached = true
		i := slices.IndexFunc(w.ledger.v.Items, func(it protocol.Item) bool { return it.Owner == a.st.Self() })
		w.apply(p.s, []registry.Op{{Kind: registry.CreateEphemeral, Path: w.nodes.item(i, markFailover), Data: []byte(p.id())}}, origin{what: "a member of ElasticJob takes over"})
	})
	return driver{reached: &reached}
}
