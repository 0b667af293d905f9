package runner

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// guestSet holds the guests of a member whose end its loop has not handled yet.
type guestSet struct {
	byItem map[int]*guest
	fire   fire // the fire of the guest that was started last
}

func (s *guestSet) add(g *guest) {
	if s.byItem == nil {
		s.byItem = map[int]*guest{}
	}
	s.byItem[g.entry.Item] = g
}

// remove removes the guest of an entry, but not a newer guest of the same item.
func (s *guestSet) remove(e protocol.Entry) {
	if g := s.byItem[e.Item]; g != nil && g.entry.Same(e) {
		delete(s.byItem, e.Item)
	}
}

// cancel asks the guest of an item to stop and, with e.Hard, ends it at once.
func (s *guestSet) cancel(e protocol.Cancel, stop job.StopReason) {
	g := s.byItem[e.Item]
	if g == nil {
		return
	}
	g.askToStop(stop, e.Why)
	if e.Hard {
		g.kill()
	}
}

// askToStop asks all guests to stop, and returns the longest grace among them.
func (s *guestSet) askToStop(stop job.StopReason, why reason.Reason) (grace time.Duration) {
	for _, g := range s.byItem {
		g.askToStop(stop, why)
		grace = max(grace, g.grace)
	}
	return grace
}

// kill ends all guests.
func (s *guestSet) kill() {
	for _, g := range s.byItem {
		g.kill()
	}
}

// calls are a member's calls other than runs of items.
type calls struct{ listener, preparation, strategy underway }

// underway is a call that can be ended.
type underway struct{ cancel context.CancelFunc } // nil: none was begun

// begin returns the context of a new call, and ends the call before it.
func (u *underway) begin(parent context.Context) (ctx context.Context, end context.CancelFunc) {
	u.end()
	ctx, u.cancel = context.WithCancel(parent)
	return ctx, u.cancel
}

// end ends the call that was begun last, if any.
func (u *underway) end() {
	if u.cancel != nil {
		u.cancel()
	}
}
