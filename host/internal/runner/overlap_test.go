package runner

import (
	"context"
	"fmt"
	"sync"

	"github.com/wasmjob/wasmjob/host/job"
)

// watched observes all guests of a test, on all servers.
type watched struct {
	mu       sync.Mutex // guards the fields below
	running  map[itemOf]job.Call
	attempts map[string]int // of each run, the newest
	faults   []string
}

// itemOf is an item of a job.
type itemOf struct {
	job  string
	item int
}

// guests wraps the guests of one server, so that they are observed.
func (w *watched) guests(of Guests) Guests {
	if l, ok := of.(Listener); ok {
		return watchedListener{watchedGuests{w, of}, l}
	}
	return watchedGuests{w, of}
}

type watchedGuests struct {
	*watched
	Guests
}

type watchedListener struct {
	watchedGuests
	Listener
}

func (w watchedGuests) Run(ctx context.Context, c job.Call) job.Outcome {
	if c.Event != "" {
		return w.Guests.Run(ctx, c)
	}
	k := itemOf{c.Config.Name, c.Item}
	w.enter(k, c)
	defer w.leave(k, c)
	return w.Guests.Run(ctx, c)
}

// enter registers a guest. No other guest of its item may run, and none of its attempt
// may have run before.
func (w *watched) enter(k itemOf, c job.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o, ok := w.running[k]; ok && c.Config.OnRegistryLoss != job.FinishOnLoss {
		w.faults = append(w.faults, fmt.Sprintf("two guests of item %d of %s: %s, attempt %d, on %s beside %s, attempt %d, on %s",
			c.Item, c.Config.Name, c.RunID, c.Attempt, c.Instance, o.RunID, o.Attempt, o.Instance))
	}
	if w.running == nil {
		w.running, w.attempts = map[itemOf]job.Call{}, map[string]int{}
	}
	if before := w.attempts[c.RunID]; c.Attempt <= before {
		w.faults = append(w.faults, fmt.Sprintf("attempt %d of %s begins after attempt %d", c.Attempt, c.RunID, before))
	}
	w.running[k], w.attempts[c.RunID] = c, c.Attempt
}

func (w *watched) leave(k itemOf, c job.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.running[k]; o.RunID == c.RunID && o.Attempt == c.Attempt {
		delete(w.running, k)
	}
}

// found returns the faults found since the last call.
func (w *watched) found() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	faults := w.faults
	w.faults = nil
	return faults
}
