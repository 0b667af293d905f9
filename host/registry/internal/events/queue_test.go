package events

import (
	"slices"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	var received []registry.Event
	q := New(func(e registry.Event) { received = append(received, e) })
	a, b := registry.Event{Kind: registry.Changed, Path: "/a"}, registry.Event{Kind: registry.Changed, Path: "/b"}
	suspended, ended := registry.Event{Kind: registry.Suspended}, registry.Event{Kind: registry.Ended}
	for _, e := range []registry.Event{a, b, a, suspended, a, ended, b, ended} {
		q.Put(e)
	}
	var work sync.WaitGroup
	work.Go(q.Run)
	q.Settle(q.Mark())
	work.Wait()
	if want := []registry.Event{a, b, suspended, a, ended}; !slices.Equal(received, want) {
		t.Errorf("received %v, want %v", received, want)
	}
}

// Changes of a node that wait together become one event, which counts them and has the final
// state of the node.
func TestQueueCountsChangesThatWait(t *testing.T) {
	t.Parallel()
	var received []registry.Event
	q := New(func(e registry.Event) { received = append(received, e) })
	for _, gone := range []bool{true, false, true} {
		q.Put(registry.Event{Kind: registry.Changed, Path: "/a", Changes: 1, Gone: gone})
	}
	q.Put(registry.Event{Kind: registry.Ended})
	q.Run()
	want := []registry.Event{{Kind: registry.Changed, Path: "/a", Changes: 3, Gone: true}, {Kind: registry.Ended}}
	if !slices.Equal(received, want) {
		t.Errorf("received %v, want %v", received, want)
	}
}
