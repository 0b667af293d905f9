package follow

import (
	"errors"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Watch keeps the view of a job for those who look and write nothing. Make it with
// NewWatch.
type Watch struct {
	mirror  *mirror.Mirror
	decoder *layout.Decoder
	shown   bool
	// Events gives the events of the session since it was asked last, and whether some
	// were lost; nil: there are none. Read gives the nodes at the paths.
	Events func() (events []registry.Event, lost bool)
	Read   func(paths []string) ([]registry.Node, error)
}

// NewWatch is one that has seen nothing yet. It reads the named nodes, and what is to
// be known below them.
func NewWatch(job *layout.Job, names []string) *Watch {
	return &Watch{mirror: mirror.New(job.Root(), names, layout.Follow), decoder: job.NewDecoder()}
}

// Turn reads what is to be read, if anything is, and is to be called again; what could
// not be read is wanted once more. If nothing is to be read, it gives the view, if there
// is a newer one and that is known to be one moment of the tree; Turn is to be called
// again when an event has come.
func (w *Watch) Turn() (view *protocol.View, again bool, err error) {
	w.listen()
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

// View turns until there is a view. It is for a new Watch: one that has given its view
// has another only after an event.
func (w *Watch) View() (*protocol.View, error) {
	for {
		view, again, err := w.Turn()
		switch {
		case view != nil || err != nil:
			return view, err
		case !again:
			return nil, errors.New("the connection to the registry is lost")
		}
	}
}

// Settled says whether the view given last is as new as the events.
func (w *Watch) Settled() bool { return w.mirror.Settled() }

// listen gives the mirror what has happened.
func (w *Watch) listen() {
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

// read answers what the mirror wants. What has happened meanwhile it is told before,
// since that may make an answer stale.
func (w *Watch) read(wanted []mirror.Read) error {
	paths := make([]string, len(wanted))
	for i, r := range wanted {
		paths[i] = r.Path
	}
	nodes, err := w.Read(paths)
	w.listen()
	for i, r := range wanted {
		if err != nil {
			w.mirror.Failed(r)
		} else {
			w.mirror.Reply(r, nodes[i])
		}
	}
	return err
}
