package cluster

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/registry"
)

// follower maintains the view of the job that members have, using the operator's session.
type follower struct {
	c     *Cluster
	ready chan struct{} // holds one value if events wait

	mu     sync.Mutex // guards events
	events []registry.Event
}

func newFollower(c *Cluster) *follower { return &follower{c: c, ready: make(chan struct{}, 1)} }

// notify is the session's callback.
func (f *follower) notify(e registry.Event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default: // it is awake
	}
}

// take returns the events that have come.
func (f *follower) take() (events []registry.Event, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, f.events = f.events, nil
	return events, false
}

// run follows the job and publishes each view, until the test ends.
func (f *follower) run() {
	if err := f.c.operator.Follow(f.c.ctx, f.c.job.Root()); err != nil {
		if f.c.ctx.Err() == nil {
			f.c.t.Errorf("follow the job: %v", err)
		}
		return
	}
	w := follow.NewWatch(f.c.job, f.c.job.Watched())
	w.Events, w.Read = f.take, f.read
	for f.c.ctx.Err() == nil {
		view, again, _ := w.Turn() // reads that failed are repeated
		if again {
			continue
		}
		if view != nil {
			f.c.change(func(s *State) { s.View = view })
		}
		select {
		case <-f.ready:
		case <-f.c.ctx.Done():
		}
	}
}

// read reads nodes one at a time.
func (f *follower) read(paths []string) ([]registry.Node, error) {
	nodes := make([]registry.Node, len(paths))
	for i, path := range paths {
		var err error
		if nodes[i], err = f.c.operator.Read(f.c.ctx, path); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}
