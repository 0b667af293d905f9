// Package follow is the loop of a member between registry and core, without its
// goroutine. It keeps a copy of the job's nodes, shows views of it to the core,
// encodes the core's decisions as transactions, and classifies their outcomes. It
// is pure: it receives events, replies and outcomes, and returns what to read, to
// send and to sync. Package runner does that on a session of the registry, the
// simulator on a session of its own. Effects of the core that concern guests,
// schedule and history are passed on.
//
// Flow: Event, Reply, Failed → Look → Step with Observed → Plan: a transaction, a
// sync, effects → Answered → Step with Committed → …; after each turn Reads.
//
// Operators and shadow jobs read a job and write nothing; they use a Watch.
package follow

import (
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Loop is the loop of one member. Create it with New. A server has one for each
// job, so it is kept small.
type Loop struct {
	job     layout.Layout
	state   *protocol.State
	mirror  *mirror.Mirror
	decoder layout.Decoder
	view    *protocol.View // the newest view

	failed   []mirror.Read // failed reads, which are to be repeated
	failures int32         // times in a row that reads failed
	refusals int32         // refused transactions in a row
	doubt    protocol.Doubt
	marks    marks
	answered bool // a transaction has ended since the view was shown
	syncing  bool // a sync is outstanding; until it ends no view is shown
	reread   bool // after the sync everything is read again
}

// New returns the loop of a member that has read nothing yet.
func New(job layout.Layout, decoder layout.Decoder, state *protocol.State) Loop {
	return Loop{job: job, state: state, mirror: mirror.New(job.Root(), job.Watched(), job.Below), decoder: decoder}
}

// State returns the state of the core.
func (l *Loop) State() *protocol.State { return l.state }

// View returns the newest view, or nil before the first. The core's view is older
// between Look and the Step that shows it the newest.
func (l *Loop) View() *protocol.View { return l.view }

// Current reports whether the core was shown a view with all events received so far.
func (l *Loop) Current() bool {
	return !l.syncing && l.view != nil && l.view == l.state.View() && l.mirror.Settled()
}

// Doubt returns the health of the session that the core knows.
func (l *Loop) Doubt() protocol.Doubt { return l.doubt }

// Event receives an event of the session. When its connection is back, failed reads are
// repeated without their pause.
func (l *Loop) Event(e registry.Event) {
	l.mirror.Event(e)
	if e.Kind == registry.Resumed {
		l.failures = 0
		l.Repeat()
	}
}

// Reread makes every node be read again.
func (l *Loop) Reread() { l.mirror.Reread() }

// Look decodes what has changed. It reports whether to show the core the view: only if the
// view is known to be one moment of the tree, and something is new, a change or the end of
// a transaction. During a sync the view may be too old to decide on.
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

// inspect requests reads of the items that the view leaves unclear, and reports whether
// there are any. If so, only the view after those reads is shown to the core.
func (l *Loop) inspect(before *protocol.View) bool {
	items := l.view.Unclear(before)
	for _, i := range items {
		l.mirror.Once(l.job.ItemNode(i))
	}
	return len(items) > 0
}

// Trust sets the health of the session. ended says that guests were ended meanwhile
// because of it. Pass the returned inputs to the core before any other input. Otherwise
// the core would think that these guests ended by themselves, or would begin runs in a
// session that may be over.
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
