package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/registry"
)

// partNodes is the number of nodes that one transaction of a deletion deletes.
const partNodes = 3

// deletion is a member's deletion of the rest of a removed job. It is over when it is
// answered or its connection is lost.
type deletion struct{ over bool }

// deleteRest deletes what the member's replica shows below the job, part by part.
func (m *member) deleteRest() {
	d := &deletion{}
	m.deletion = d
	m.later(m.w.between(100, 30*millisecond), func() {
		m.deleteParts(d, slices.Collect(removal.Parts(m.w.job, slices.Values(m.s.below(m.w.job.Root())), partNodes)))
	})
}

// deleteParts deletes one part after the other, and reports the end.
func (m *member) deleteParts(d *deletion, parts [][]string) {
	switch {
	case d.over:
		return
	case len(parts) == 0:
		m.restDeleted(d, "")
		return
	}
	by := origin{what: m.name() + " deletes a part of what a removal has left"}
	m.s.commit(removal.Ops(m.w.job, parts[0]), by, func(_ registry.Receipt, err error) {
		switch {
		case d.over:
		case err != nil:
			m.restDeleted(d, err.Error())
		default:
			m.deleteParts(d, parts[1:])
		}
	})
}

// restDeleted reports the end of a deletion to the core, once; fault is empty if all
// went well.
func (m *member) restDeleted(d *deletion, fault string) {
	if d != nil && !d.over && m.deletion == d {
		d.over = true
		m.step(protocol.RestDeleted{Fault: fault})
	}
}

// below lists a node of the replica and all nodes below it, children first.
func (s *session) below(path string) []string {
	n := s.node(path)
	if !n.Exists {
		return nil
	}
	var all []string
	for _, c := range n.Children {
		all = append(all, s.below(path+"/"+c)...)
	}
	return append(all, path)
}
