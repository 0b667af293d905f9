package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// steering is told of what happens in a world of which a test wants something
// certain. The zero value does nothing.
type steering struct {
	sending func(*member, protocol.Mutation)       // a member sends a transaction
	change  func(old, now *protocol.View)          // one was carried out
	fate    func(*member, protocol.Mutation) *fate // one that is sent meets another fate; nil: none does
	fails   func(protocol.Entry) bool              // its guest does
	reached *bool                                  // what is wanted came about
}

func (s *steering) on() bool { return s.reached != nil }

func (s *steering) sent(m *member, mu protocol.Mutation) {
	if s.sending != nil {
		s.sending(m, mu)
	}
}

func (l *ledger) steered(old *protocol.View) {
	if s := l.w.steer; s.change != nil {
		s.change(old, l.v)
	}
}
