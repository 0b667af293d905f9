package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// driver observes a world, and intervenes in it, for a test's scenario. The zero value does
// nothing.
type driver struct {
	sending func(*member, protocol.Mutation)       // called when a member sends a transaction
	change  func(old, now *protocol.View)          // called when a transaction was applied
	fate    func(*member, protocol.Mutation) *fate // the outcome of a sent transaction; nil: chance decides
	fails   func(protocol.Entry) bool              // reports whether the guest of a run fails
	reached *bool                                  // whether the scenario came about
}

func (s *driver) on() bool { return s.reached != nil }

func (s *driver) sent(m *member, mu protocol.Mutation) {
	if s.sending != nil {
		s.sending(m, mu)
	}
}

func (l *ledger) steered(old *protocol.View) {
	if s := l.w.driver; s.change != nil {
		s.change(old, l.v)
	}
}
