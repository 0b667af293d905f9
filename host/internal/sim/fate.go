package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// fate is what becomes of a transaction that is neither applied nor in conflict with
// another: the answer to it, while the connection lasts. Nothing is drawn for it.
type fate struct {
	err     error // that it is answered with
	applied bool  // it was carried out all the same
	unheard bool  // and the member is told nothing of what it changed
	late    int64 // for so long there is no answer
}

func (s *steering) fateOf(m *member, mu protocol.Mutation) *fate {
	if s.fate == nil {
		return nil
	}
	return s.fate(m, mu)
}

// send is commit, unless the transaction has a fate.
func (s *session) send(f *fate, ops []registry.Op, by author, reply func(registry.Receipt, error)) {
	if f == nil {
		s.commit(ops, by, reply)
		return
	}
	s.request(func() {
		if f.applied {
			s.w.apply(s, ops, by)
		}
		if f.unheard {
			s.replica = s.w.tree.Revision()
		}
		s.w.tracef("server: answers %s with %v", by, f.err)
		s.w.after(f.late, func() { s.client(message{reply: func() { reply(registry.Receipt{}, f.err) }}) })
	}, nil, false)
}
