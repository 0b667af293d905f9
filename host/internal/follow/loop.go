// Package follow is the loop of a member between registry and core, without its
// goroutine: it keeps a copy of the job's nodes, shows the core views of it, spells
// what the core decides as transactions, and judges their answers. It is pure. It is
// told of events, replies and answers, and tells what to read, to send and to sync.
// Package runner does that on a session of the registry, and the simulator on
// one of its own. What the core wants of guests, schedule and history is handed on.
//
// Flow: Event, Reply, Failed → Look → Step with Observed → Plan: a transaction, a
// sync, effects → Answered → Step with Committed → …; after each turn Reads.
//
// Those who look at a job and write nothing, operators and shadows, have a Watch.
package follow

import (
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Loop is one member's. Make it with New. A server has one for each job, so it is
// kept small.
type Loop struct {
	job     *layout.Job
	state   *protocol.State
	mirror  *mirror.Mirror
	decoder *layout.Decoder
	view    *protocol.View // the newest

	failed   []mirror.Read // reads that are to be repeated
	rounds   int32         // of them, in a row
	refusals int32         // of transactions, in a row
	doubt    protocol.Doubt
	marks    marks
	answered bool // a transaction was answered after the view
	syncing  bool // no view is shown before the answer to a sync
	reread   bool // … and before everything was read again
}

// New is the loop of a member that has seen nothing yet.
func New(job *layout.Job, decoder *layout.Decoder, state *protocol.State) Loop {
	return Loop{job: job, state: state, mirror: mirror.New(job.Root(), layout.Watched(), layout.Follow), decoder: decoder}
}

// State is the core's.
func (l *Loop) State() *protocol.State { return l.state }

// View is the newest; nil before the first. The core's is older between Look and
// the Step that shows it.
func (l *Loop) View() *protocol.View { return l.view }

// Doubt is how far the core was told that the session can be trusted.
func (l *Loop) Doubt() protocol.Doubt { return l.doubt }

// Event takes an event of the session.
func (l *Loop) Event(e registry.Event) {
	l.mirror.Event(e)
	if e.Kind == registry.Resumed {
		l.rounds = 0
		l.Repeat()
	}
}

// Reread lets all nodes be read once more.
func (l *Loop) Reread() { l.mirror.Reread() }

// Look takes in what has changed. It tells whether the core is to be shown the
// view: if that is known to be one moment of the tree, and there is something
// new to see, a change or the end of a transaction.
func (l *Loop) Look() bool {
	if l.syncing || !l.mirror.Settled() {
		return false
	}
	changes := l.mirror.Changes()
	if len(changes) == 0 && l.view != nil && !l.answered {
		return false
	}
	for _, c := range changes {
		l.decoder.Apply(c.Path, c.Node)
	}
	if len(changes) > 0 || l.view == nil {
		before := l.view
		l.view = l.decoder.View()
		if l.inspect(before) {
			return false
		}
	}
	l.answered = false
	return true
}

// inspect lets be read what the view leaves unclear; it tells whether it leaves
// anything. The core is shown the view that has it.
func (l *Loop) inspect(before *protocol.View) bool {
	items := l.view.Unclear(before)
	for _, i := range items {
		l.mirror.Once(layout.ItemNode(i))
	}
	return len(items) > 0
}

// Trust tells the loop how far the session can be trusted, and whether guests were
// ended meanwhile because it could not be. What comes back is for the core, before
// any other input: what was done because of the session must not be taken for the
// guests' own doing, nor must anything begin by what is remembered of a session
// that may be over.
func (l *Loop) Trust(level protocol.Doubt, ended bool) []protocol.Input {
	var news []protocol.Input
	if ended && l.doubt != protocol.Expired {
		l.doubt = protocol.Expired
		news = append(news, protocol.Doubted{Level: protocol.Expired})
	}
	if level != l.doubt {
		l.doubt = level
		news = append(news, protocol.Doubted{Level: level})
	}
	return news
}
