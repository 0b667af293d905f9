package runner

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// mailbox is the one way into a member's loop. Putting never blocks, and
// nothing is dropped; it is bounded because each kind of letter is:
//
//   - events: one for each change of the job's nodes since the last turn, which
//     takes all there are;
//   - replies, Committed, synced, Assigned, Stored: one for each request or batch
//     that is under way;
//   - ends of guests: those that come together are one letter;
//   - ReadOnly: one for each try to write or to sync, between which are pauses;
//   - Asked: by maxAsks; Unasked: one for each;
//   - ticks: the newest one replaces the one that waits. Its own Prev stays
//     with it: the core sees that instants lie between it and the last one
//     accounted for, and writes them as a gap;
//   - wake, marks and look: one for each timer, and for each change of trust.
//
// Letters are read in the order in which they were put. Safety rests on that:
// an event is put inside the registry's callback and a reply when its call has
// returned, so no reply is read before an event that makes it stale.
//
// While there is a letter, one goroutine reads: the first letter begins it, and
// it ends when there is none left. So a job at rest has none, and never two.
type mailbox struct {
	mu      sync.Mutex // guards what follows
	letters []letter
	tick    protocol.Tick // At 0: none
	turn    func()        // reads until take says that nothing is left; nil: nobody reads
	reading bool          // it is under way
	turns   uint64        // that took something

	fence    fence     // of the member; the session's watcher comes to it by this
	troubles *troubles // of the job
}

var _ session.Loop = (*mailbox)(nil)

// letter is what the loop reads.
type letter interface{ letter() }

type (
	eventLetter struct{ registry.Event }
	replyLetter struct {
		read mirror.Read
		node registry.Node
		err  error
	}
	againLetter  struct{} // reads that failed are due again
	commitLetter struct {
		plan    int64
		name    string
		receipt registry.Receipt
		err     error
	}
	syncLetter     struct{}
	wakeLetter     struct{}           // the time that the core asked for has come
	drainLetter    struct{}           // a phase of the way out has had its time
	leaveLetter    struct{ now bool } // the member is to leave; now: without waiting for guests to end by themselves
	marksLetter    struct{}           // marks of runs have waited to be read
	lookLetter     struct{}           // look at the clock, and for what is to be read
	redefineLetter struct{}           // the server's own file was read again
	inputLetter    struct{ protocol.Input }
	dealtLetter    struct {
		*deal
		protocol.Assigned
	}
	endsLetter struct{ ends protocol.Finished }
)

func (eventLetter) letter()    {}
func (replyLetter) letter()    {}
func (againLetter) letter()    {}
func (commitLetter) letter()   {}
func (syncLetter) letter()     {}
func (wakeLetter) letter()     {}
func (drainLetter) letter()    {}
func (leaveLetter) letter()    {}
func (lookLetter) letter()     {}
func (redefineLetter) letter() {}
func (marksLetter) letter()    {}
func (inputLetter) letter()    {}
func (dealtLetter) letter()    {}
func (*endsLetter) letter()    {}

func (b *mailbox) put(l letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letters = append(b.letters, l)
	b.rouse()
}

// ended puts the end of a guest. It goes into the letter before, if that is of
// ends as well: all guests of a fire may end at the same moment.
func (b *mailbox) ended(e protocol.End) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.letters); n > 0 {
		if l, ok := b.letters[n-1].(*endsLetter); ok {
			l.ends = append(l.ends, e)
			return
		}
	}
	b.letters = append(b.letters, &endsLetter{protocol.Finished{e}})
	b.rouse()
}

// Event is the line's callback, and so is Doubted. Guests do not wait for a turn
// when the session is over.
func (b *mailbox) Event(e registry.Event) {
	if e.Kind == registry.Ended {
		b.fence.close(func() {})
	}
	b.put(eventLetter{e})
}

func (b *mailbox) due(at, prev int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at > b.tick.At {
		b.tick = protocol.Tick{At: at, Prev: prev}
		b.rouse()
	}
}

// rouse begins a turn, unless one is under way. mu is held.
func (b *mailbox) rouse() {
	if b.turn != nil && !b.reading {
		b.reading = true
		go b.turn()
	}
}

// open lets turn read what has come and will come.
func (b *mailbox) open(turn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn = turn
	b.rouse()
}

// close: the turn that is under way is the last. What comes later is kept for
// nobody.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn = nil
}

// take empties the mailbox for the turn that is under way; if there is nothing
// that is the end of it. into is used for the letters.
func (b *mailbox) take(into []letter) (letters []letter, tick protocol.Tick, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.letters) == 0 && b.tick.At == 0 {
		b.letters, b.reading = nil, false
		return nil, tick, false
	}
	b.turns++
	letters, b.letters = b.letters, into[:0]
	tick, b.tick = b.tick, protocol.Tick{}
	return letters, tick, true
}

// dropTick forgets an instant of a schedule that is no longer valid.
func (b *mailbox) dropTick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick = protocol.Tick{}
}
