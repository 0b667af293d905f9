package runner

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Cancellation names an attempt that an operator wants to end. With Now, the guest gets
// no grace.
type Cancellation struct {
	Item    int
	Run     string
	Attempt int
	Now     bool
}

// Cancel ends an attempt if it runs here. It returns at once.
func (r *Runner) Cancel(c Cancellation) {
	r.requests.mu.Lock()
	defer r.requests.mu.Unlock()
	r.requests.send(cancelMessage{c})
}

// cancelRun asks the guest of an attempt to stop, if exactly that attempt runs here. The
// core receives the end like any other; a cancelled run is not retried.
func (m *member) cancelRun(c Cancellation) {
	g := m.guests.byItem[c.Item]
	if g == nil || g.entry.Run() != c.Run || g.entry.Attempt != c.Attempt {
		return
	}
	m.guests.cancel(protocol.Cancel{Item: c.Item, Why: reason.Of(reason.RunCancelled), Hard: c.Now}, job.StopShutdown)
}
