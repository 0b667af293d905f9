package cluster

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

// follower keeps the view of the job as members see it, by the session of the
// operator.
type follower struct {
	c       *Cluster
	mirror  *mirror.Mirror
	decoder *layout.Decoder
	ready   chan struct{} // holds one: events wait

	mu     sync.Mutex // guards events
	events []registry.Event
}

func newFollower(c *Cluster) *follower {
	return &follower{
		c: c, mirror: mirror.New(c.job.Root(), layout.Watched(), layout.Follow), decoder: c.job.NewDecoder(),
		ready: make(chan struct{}, 1),
	}
}

// hear is the session's callback.
func (f *follower) hear(e registry.Event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default: // it has been told
	}
}

// take hands the events that have come to the mirror.
func (f *follower) take() {
	f.mu.Lock()
	events := f.events
	f.events = nil
	f.mu.Unlock()
	for _, e := range events {
		f.mirror.Event(e)
	}
}

func (f *follower) run() {
	if err := f.c.operator.Follow(f.c.ctx, f.c.job.Root()); err != nil {
		if f.c.ctx.Err() == nil {
			f.c.t.Errorf("follow the job: %v", err)
		}
		return
	}
	for f.c.ctx.Err() == nil {
		f.take()
		if reads := f.mirror.Wanted(); len(reads) > 0 {
			f.read(reads)
			continue
		}
		if f.mirror.Settled() {
			f.publish()
		}
		select {
		case <-f.ready:
		case <-f.c.ctx.Done():
		}
	}
}

func (f *follower) read(reads []mirror.Read) {
	for _, r := range reads {
		n, err := f.c.operator.Read(f.c.ctx, r.Path)
		f.take() // events first: they may make the answer stale
		if err != nil {
			f.mirror.Failed(r)
			continue
		}
		f.mirror.Reply(r, n)
	}
}

func (f *follower) publish() {
	changes := f.mirror.Changes()
	if len(changes) == 0 {
		return
	}
	for _, ch := range changes {
		f.decoder.Apply(ch.Path, ch.Node)
	}
	v := f.decoder.View()
	f.c.change(func(s *State) { s.View = v })
}
