package session

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

// maxEvents bounds the events that an Inbox keeps. Beyond it none of them is worth
// more than the news that there were too many: all has to be read anew.
const maxEvents = 10_000

// Inbox keeps the events of a session until somebody takes them.
type Inbox struct {
	news chan struct{} // has one if there was an event since somebody waited

	mu     sync.Mutex // guards what follows: the session puts, the reader takes
	events []registry.Event
	lost   bool // there were too many
}

// NewInbox makes an empty Inbox.
func NewInbox() *Inbox { return &Inbox{news: make(chan struct{}, 1)} }

// Put adds an event. It does not block.
func (b *Inbox) Put(e registry.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) == maxEvents {
		b.events, b.lost = nil, true
	}
	b.events = append(b.events, e)
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// News has one if there was an event since somebody waited for it.
func (b *Inbox) News() <-chan struct{} { return b.news }

// Take returns the events since the last time, and whether there were more than
// the Inbox could keep.
func (b *Inbox) Take() (events []registry.Event, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lost = b.events, b.lost
	b.events, b.lost = nil, false
	return events, lost
}
