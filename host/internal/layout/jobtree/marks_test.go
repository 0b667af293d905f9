package jobtree_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
)

func TestBegan(t *testing.T) {
	t.Parallel()
	j := v21.NewJob("ns", "job")
	for _, c := range []struct {
		name string
		e    registry.Event
		item int // -1: the event shows no such item
	}{
		{"a mark was made", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/7/running", Changes: 1}, 7},
		{"and is gone again", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/7/running", Changes: 2, Gone: true}, 7},
		{"it has gone", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/7/running", Changes: 1, Gone: true}, -1},
		{"its children", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/7/running"}, -1},
		{"another mark", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/7/misfire", Changes: 1}, -1},
		{"no item", registry.Event{Kind: registry.Changed, Path: "/ns/job/sharding/x/running", Changes: 1}, -1},
		{"another job", registry.Event{Kind: registry.Changed, Path: "/ns/job2/sharding/7/running", Changes: 1}, -1},
		{"the connection", registry.Event{Kind: registry.Suspended}, -1},
	} {
		item, ok := j.Began(c.e)
		if !ok {
			item = -1
		}
		if item != c.item {
			t.Errorf("%s: item %d, want %d", c.name, item, c.item)
		}
	}
}

func TestEachRunningMarkCounts(t *testing.T) {
	t.Parallel()
	d := v21.NewJob("n", "j").NewDecoder(nil)
	mark := func(created int64) {
		d.Apply("/n/j/sharding/0/running", registry.Node{Exists: true, Stat: registry.Stat{Created: created, Owner: 100}})
	}
	gone := func() { d.Apply("/n/j/sharding/0/running", registry.Node{}) }
	d.Apply("/n/j/sharding", registry.Node{Exists: true, Children: []string{"0"}})
	d.Apply("/n/j/sharding/0", registry.Node{Exists: true, Children: []string{"running"}})
	for k, change := range []struct {
		name string
		do   func()
		want int32
	}{
		{"it comes", func() { mark(5) }, 1},
		{"it is read again", func() { mark(5) }, 1},
		{"another is in its place", func() { mark(7) }, 2},
		{"it has gone", gone, 2},
		{"one came and went unread", func() { mark(0); gone() }, 3},
		{"and one more", func() { mark(0); gone() }, 4},
		{"it comes", func() { mark(9) }, 5},
	} {
		if change.do(); d.View().Items[0].Marks != change.want {
			t.Errorf("%d: %s: %d marks, want %d", k, change.name, d.View().Items[0].Marks, change.want)
		}
	}
}
