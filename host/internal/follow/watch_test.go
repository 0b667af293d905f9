package follow

import (
	"errors"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// watched is a Watch on the tree of a world.
type watched struct {
	*world
	*Watch
	fault   error
	events  []registry.Event
	lost    bool
	reading func() // called between the reads and their answers
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{world: newWorld(t)}
	w.Watch = NewWatch(w.job, w.job.Watched())
	w.Events = func() ([]registry.Event, bool) {
		events, lost := w.events, w.lost
		w.events, w.lost = nil, false
		return events, lost
	}
	w.Read = func(paths []string) ([]registry.Node, error) {
		nodes := make([]registry.Node, len(paths))
		for i, p := range paths {
			nodes[i] = w.tree.Get(p)
		}
		if w.reading != nil {
			w.reading()
		}
		return nodes, w.fault
	}
	return w
}

// turn calls Turn until nothing must be read.
func (w *watched) turn() *protocol.View {
	w.Helper()
	for range 100 {
		view, again, err := w.Turn()
		if err != nil {
			w.Fatal(err)
		}
		if !again {
			return view
		}
	}
	w.Fatal("there is no end of reading")
	return nil
}

// happens commits a transaction of another member.
func (w *watched) happens(ops ...registry.Op) {
	w.Helper()
	_, changes, err := w.tree.Commit(session+1, 1000, ops)
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range changes {
		if c.Kind != tree.ChildrenChanged {
			w.events = append(w.events, registry.Event{Kind: registry.Changed, Path: c.Path, Changes: 1, Gone: !c.Node.Exists})
			continue
		}
		w.events = append(w.events, registry.Event{Kind: registry.Changed, Path: c.Path})
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	if v := w.turn(); v == nil || v.Exists {
		t.Fatalf("the first view is %+v", v)
	}
	if v := w.turn(); v != nil {
		t.Error("a view is given twice")
	}
	create := func(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }
	w.happens(create(w.job.Root()), create(w.job.At("instances")))
	// A node that changes during a read is read once more.
	w.reading = func() {
		w.reading = nil
		w.happens(registry.Op{Kind: registry.CreateEphemeral, Path: w.job.Instance("10.0.0.9@-@9")})
	}
	if v := w.turn(); v == nil || !v.Exists || len(v.Instances) != 1 {
		t.Errorf("the newer view is %+v", v)
	}
	// After lost events all nodes are read.
	w.happens(registry.Op{Kind: registry.Delete, Path: w.job.Instance("10.0.0.9@-@9"), Version: registry.AnyVersion})
	w.events, w.lost = nil, true
	if v := w.turn(); v == nil || len(v.Instances) > 0 {
		t.Errorf("after a loss the view is %+v", v)
	}
}

func TestWatchReturnsErrorsOfReads(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fault = errors.New("denied")
	if v, again, err := w.Turn(); v != nil || !again || !errors.Is(err, w.fault) {
		t.Fatalf("got %v, %v, %v", v, again, err)
	}
	if v, err := w.View(); v != nil || !errors.Is(err, w.fault) {
		t.Errorf("the view is %v, %v", v, err)
	}
	w.events = []registry.Event{{Kind: registry.Suspended}}
	if v, again, err := w.Turn(); v != nil || again || err != nil || w.Settled() {
		t.Errorf("without a connection: %v, %v, %v", v, again, err)
	}
	if v, err := w.View(); v != nil || err == nil {
		t.Errorf("without a connection the view is %v, %v", v, err)
	}
	w.fault, w.events = nil, []registry.Event{{Kind: registry.Resumed}}
	if v, err := w.View(); v == nil || err != nil || !w.Settled() {
		t.Errorf("after it the view is %v, %v", v, err)
	}
}
