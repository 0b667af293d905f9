package session

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// An inbox returns the events since the last call. If there were more than it keeps, it
// reports that and returns the newest.
func TestAnInboxKeepsTheNewest(t *testing.T) {
	t.Parallel()
	b := NewInbox()
	put := func(n int) {
		for range n {
			b.Put(registry.Event{Kind: registry.Changed})
		}
	}
	for _, tt := range []struct {
		put, kept int
		lost      bool
	}{{0, 0, false}, {3, 3, false}, {maxEvents, maxEvents, false}, {maxEvents + 2, 2, true}, {1, 1, false}} {
		put(tt.put)
		if events, lost := b.Take(); len(events) != tt.kept || lost != tt.lost {
			t.Errorf("of %d events it gives %d, lost: %v", tt.put, len(events), lost)
		}
	}
	<-b.News()
	select {
	case <-b.News():
		t.Error("there are news, and nothing came")
	default:
	}
}
