package follow

import (
	"errors"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Watch keeps the view of a job for readers that write nothing. Create it with
// NewWatch.
type Watch struct {
	mirror  *mirror.Mirror
	decoder layout.Decoder
	shown   bool
	// Events returns the events of the session since its last call, and whether
	// some were lost; nil: there are no events. Read returns the nodes at the
	// paths.
	Events func() (events []registry.Event, lost bool)
	Read   func(paths []string) ([]registry.Node, error)
}

// NewWatch returns a Watch that has read nothing yet. It reads the named nodes, and
// those below them that the layout follows.
func NewWatch(job layout.Layout, names []string) *Watch {
	return &Watch{mirror: mirror.New(job.Root(), names, job.Below), decoder: job.NewDecoder(nil)}
}

// Turn reads the nodes that must be read, if any, and returns again = true: call it again.
// A failed read is repeated by the next call. If nothing must be read, Turn returns the
// view if there is a newer one that is known to be one moment of the tree. Then call it
// again after the next event.
func (w *Watch) Turn() (view *protocol.View, again bool, err error) {
	w.receive()
	if wanted := w.mirror.Wanted(); len(wanted) > 0 {
		return nil, true, w.read(wanted)
	}
	if !w.mirror.Settled() {
		return nil, false, nil
	}
	changes := w.mirror.Changes()
	for _, c := range changes {
		w.decoder.Apply(c.Path, c.Node)
	}
	if len(changes) == 0 && w.shown {
		return nil, false, nil
	}
	w.shown = true
	return w.decoder.View(), false, nil
}

// View calls Turn until there is a view. It is for a new Watch: after a view the
// next comes only after an event.
func (w *Watch) View() (*protocol.View, error) {
	for {
		view, again, err := w.Turn()
		switch {
		case view != nil || err != nil:
			return view, err
		case !again:
			return nil, errors.New("lost the connection to the registry")
		}
	}
}

// Settled reports whether the newest view includes all events received so far.
func (w *Watch) Settled() bool { return w.mirror.Settled() }

// receive passes new events to the mirror.
func (w *Watch) receive() {
	if w.Events == nil {
		return
	}
	events, lost := w.Events()
	for _, e := range events {
		w.mirror.Event(e)
	}
	if lost {
		w.mirror.Reread()
	}
}

// read makes the reads that the mirror needs. The mirror receives the events that came
// meanwhile before the answers, since an event may make an answer stale.
func (w *Watch) read(wanted []mirror.Read) error {
	paths := make([]string, len(wanted))
	for i, r := range wanted {
		paths[i] = r.Path
	}
	nodes, err := w.Read(paths)
	w.receive()
	for i, r := range wanted {
		if err != nil {
			w.mirror.Failed(r)
		} else {
			w.mirror.Reply(r, nodes[i])
		}
	}
	return err
}
