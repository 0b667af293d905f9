package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// openedLate: the service counts from when it made the session.
func openedLate(w *World) steering {
	reached := false
	return steering{reached: &reached, change: func(_, now *protocol.View) {
		reached = reached || len(now.Instances) > 0
	}}
}
