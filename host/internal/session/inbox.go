package session

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

// maxEvents bounds the events that an Inbox keeps. If there are more, the reader
// has to read everything again anyway, so the older ones are dropped.
const maxEvents = 10_000

// Inbox keeps the events of a session until the reader takes them.
type Inbox struct {
	news chan struct{} // holds one value if an event came since the last receive

	mu     sync.Mutex // guards the fields below
	events []registry.Event
	lost   bool // events were dropped
}

// NewInbox returns an empty Inbox.
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

// News returns a channel that holds one value if an event came since the last
// receive.
func (b *Inbox) News() <-chan struct{} { return b.news }

// Take returns the events since the last call, and whether older ones were dropped
// because there were more than the Inbox keeps.
func (b *Inbox) Take() (events []registry.Event, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lost = b.events, b.lost
	b.events, b.lost = nil, false
	return events, lost
}
