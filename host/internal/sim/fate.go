package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// fate is the outcome that a driver gives a transaction: the error that its sender gets, if
// the connection lasts, and whether the transaction is applied. Nothing of it is left to
// chance.
type fate struct {
	err     error // the error in the answer
	applied bool  // it is applied all the same
	unheard bool  // the member gets no events of its changes
	late    int64 // delay of the answer
}

// fateOf returns the outcome that the scenario gives a transaction; nil: chance decides.
func (d *driver) fateOf(m *member, mu protocol.Mutation) *fate {
	if d.fate == nil {
		return nil
	}
	return d.fate(m, mu)
}

// send commits a transaction, with the outcome of f unless that is nil.
func (s *session) send(f *fate, ops []registry.Op, by origin, reply func(registry.Receipt, error)) {
	if f == nil {
		s.commit(ops, by, reply)
		return
	}
	s.request(func() {
		if f.applied {
			s.w.apply(s, ops, by)
		}
		if f.unheard { // a replica that skips a change sends no events of it
			s.replica = s.w.tree.Revision()
		}
		s.w.tracef("server: answers %s with %v", by, f.err)
		s.w.after(f.late, func() { s.client(message{reply: func() { reply(registry.Receipt{}, f.err) }}) })
	}, nil, false)
}
