package runner

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// mailbox is the one way into a member's loop. Putting never blocks, and
// nothing is dropped; it is bounded because each kind of letter is:
//
//   - events: one for each watch that a read has armed, and a read happens only
//     when the loop asks for it;
//   - replies, Committed, synced, Assigned, Finished, Stored: one for each
//     request, guest or batch that is under way;
//   - Asked: by maxAsks; Unasked: one for each;
//   - ticks: the newest one replaces the one that waits. Its own Prev stays
//     with it: the core sees that instants lie between it and the last one
//     accounted for, and writes them as a gap;
//   - acknowledged heartbeats: the newest counts.
//
// Letters are read in the order in which they were put. Safety rests on that:
// an event is put inside the registry's callback and a reply when its call has
// returned, so no reply is read before an event that makes it stale.
type mailbox struct {
	ready chan struct{} // holds one: there is something to read

	mu      sync.Mutex // guards what follows
	letters []letter
	tick    protocol.Tick // At 0: none
	acked   moment        // when the newest acknowledged heartbeat was sent
}

// letter is what the loop reads.
type letter interface{ letter() }

type (
	eventLetter struct{ registry.Event }
	replyLetter struct {
		read mirror.Read
		node registry.Node
		err  error
	}
	commitLetter struct {
		plan     int64
		name     string
		revision int64
		err      error
	}
	syncLetter  struct{}
	inputLetter struct{ protocol.Input }
)

func (eventLetter) letter()  {}
func (replyLetter) letter()  {}
func (commitLetter) letter() {}
func (syncLetter) letter()   {}
func (inputLetter) letter()  {}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (b *mailbox) put(l letter) {
	b.mu.Lock()
	b.letters = append(b.letters, l)
	b.mu.Unlock()
	b.signal()
}

// event is the registry's callback.
func (b *mailbox) event(e registry.Event) { b.put(eventLetter{e}) }

func (b *mailbox) due(at, prev int64) {
	b.mu.Lock()
	if at > b.tick.At {
		b.tick = protocol.Tick{At: at, Prev: prev}
	}
	b.mu.Unlock()
	b.signal()
}

func (b *mailbox) acknowledge(sent moment) {
	b.mu.Lock()
	b.acked = sent
	b.mu.Unlock()
	b.signal()
}

func (b *mailbox) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // the loop has yet to look
	}
}

// take empties the mailbox. into is used for the letters.
func (b *mailbox) take(into []letter) (letters []letter, tick protocol.Tick) {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters, b.letters = b.letters, into[:0]
	tick, b.tick = b.tick, protocol.Tick{}
	return letters, tick
}

func (b *mailbox) lastAck() moment {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acked
}

// dropTick forgets an instant of a schedule that is no longer valid.
func (b *mailbox) dropTick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick = protocol.Tick{}
}
