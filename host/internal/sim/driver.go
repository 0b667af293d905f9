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

// on reports whether a scenario drives the world. Then nothing else disturbs it.
func (d *driver) on() bool { return d.reached != nil }

// sent passes to the scenario that the member sends a transaction.
func (d *driver) sent(m *member, mu protocol.Mutation) {
	if d.sending != nil {
		d.sending(m, mu)
	}
}

// drive passes to the scenario what a transaction has changed.
func (l *ledger) drive(old *protocol.View) {
	if d := l.w.driver; d.change != nil {
		d.change(old, l.v)
	}
}
