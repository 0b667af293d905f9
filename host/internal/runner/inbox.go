package runner

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// inbox is the only way into a member's loop. Putting a message never blocks, and drops
// nothing before close. The inbox is bounded because each kind of message is bounded:
//
//   - events: one for each change of the job's nodes since the last turn;
//   - replies, commits, syncs, assignments, stored rows, deleted rests: one for each
//     request or batch in flight;
//   - ends of guests: consecutive ones share one message;
//   - ReadOnly: one for each attempt to write or to sync, with pauses in between;
//   - Asked: at most maxAsks; Unasked: one for each of them;
//   - precededMessage: one for each change in the jobs before this one;
//   - cancellations: as many as the registry keeps;
//   - ticks: a new one replaces the one that waits. It carries its own Prev, so the core
//     sees the instants between it and the last one accounted for, and writes them as a
//     gap;
//   - wake, marks and check: one for each timer and each change of the session's health.
//
// The loop handles messages in the order in which they were put. Safety rests on this: an
// event is put inside the registry's callback, and a reply after its call has returned,
// so no reply is handled before an event that makes it stale.
//
// While there are messages, one goroutine handles them: the first message starts it, and
// it ends when none is left. An idle job has no goroutine, and no job has two.
type inbox struct {
	mu       sync.Mutex // guards the fields below
	messages []message
	tick     protocol.Tick // At is 0 if none waits
	turn     func()        // handles messages until takeAll returns none; nil until the loop opens
	closed   bool          // the loop has ended
	reading  bool          // a turn is under way
	turns    uint64        // number of turns that took something

	fence    fence     // the member's; the session's watcher reaches it here
	troubles *troubles // of the job
}

var _ session.Loop = (*inbox)(nil)

// message is one of the types below. Its method marks them.
type message interface{ message() }

type (
	eventMessage struct{ registry.Event }
	replyMessage struct {
		read mirror.Read
		node registry.Node
		err  error
	}
	retryReadsMessage struct{} // reads that failed are due again
	commitMessage     struct {
		plan    int64  // id of the plan that was sent
		name    string // of its mutation
		receipt registry.Receipt
		err     error
	}
	syncedMessage       struct{}
	askMessage          struct{ protocol.Asked }
	asksSyncedMessage   struct{ asks []protocol.Asked } // a sync that was sent after these asks had come has succeeded
	wakeMessage         struct{}                        // the time that the core asked for has come
	drainTimeoutMessage struct{}                        // the time of a drain phase is up
	shutdownMessage     struct{ cause error }           // the server shuts down
	marksDueMessage     struct{}                        // the wait before marks of runs are read is over
	checkMessage        struct{}                        // check the session and the clock, and send the reads that are due
	redefineMessage     struct{}                        // the server's own file was read again
	cancelMessage       struct{ Cancellation }          // an operator wants a run to end
	inputMessage        struct{ protocol.Input }
	precededMessage     struct {
		by *precedence
		Precedence
	}
	endsMessage        struct{ ends protocol.Finished }
	restDeletedMessage struct{ fault string }
)

func (eventMessage) message()        {}
func (replyMessage) message()        {}
func (retryReadsMessage) message()   {}
func (commitMessage) message()       {}
func (syncedMessage) message()       {}
func (askMessage) message()          {}
func (asksSyncedMessage) message()   {}
func (wakeMessage) message()         {}
func (drainTimeoutMessage) message() {}
func (shutdownMessage) message()     {}
func (checkMessage) message()        {}
func (redefineMessage) message()     {}
func (marksDueMessage) message()     {}
func (cancelMessage) message()       {}
func (inputMessage) message()        {}
func (precededMessage) message()     {}
func (*endsMessage) message()        {}
func (restDeletedMessage) message()  {}

// put adds a message for the loop.
func (b *inbox) put(l message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.messages = append(b.messages, l)
	b.wake()
}

// ended puts the end of a guest. It joins the newest message if that holds ends, too: all
// guests of a fire may end at the same moment.
func (b *inbox) ended(e protocol.End) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if n := len(b.messages); n > 0 {
		if l, ok := b.messages[n-1].(*endsMessage); ok {
			l.ends = append(l.ends, e)
			return
		}
	}
	b.messages = append(b.messages, &endsMessage{protocol.Finished{e}})
	b.wake()
}

// Event implements session.Listener. If the session is over, guests are ended without
// waiting for a turn, even after close.
func (b *inbox) Event(e registry.Event) {
	if e.Kind == registry.Ended {
		b.fence.close(func() {})
	}
	b.put(eventMessage{e})
}

// due puts a tick: the instant at is due, and prev is the one before it. An older tick that
// still waits is replaced.
func (b *inbox) due(at, prev int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && at > b.tick.At {
		b.tick = protocol.Tick{At: at, Prev: prev}
		b.wake()
	}
}

// wake starts a turn, unless one is under way or the loop is not open. mu is held.
func (b *inbox) wake() {
	if b.turn != nil && !b.reading {
		b.reading = true
		go b.turn()
	}
}

// open starts the loop: turn handles the messages queued so far and all later ones.
func (b *inbox) open(turn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn = turn
	b.wake()
}

// close makes the current turn the last. The messages that wait are dropped, and so are later
// ones: a guest that does not return may keep the member for long.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn, b.closed = nil, true
	b.messages, b.tick = nil, protocol.Tick{}
}

// takeAll empties the inbox for the current turn. If it was empty already, more is false
// and the turn ends. Later messages reuse the memory of into, the messages that the turn has
// handled.
func (b *inbox) takeAll(into []message) (messages []message, tick protocol.Tick, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 && b.tick.At == 0 {
		b.messages, b.reading = nil, false
		return nil, tick, false
	}
	b.turns++
	messages, b.messages = b.messages, into[:0]
	tick, b.tick = b.tick, protocol.Tick{}
	return messages, tick, true
}

// dropTick drops the waiting instant of a schedule that is no longer valid.
func (b *inbox) dropTick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick = protocol.Tick{}
}
