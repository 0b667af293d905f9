package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	eventsPath = "/api/v1/events"
	eventsType = "text/event-stream"
	// lastEventHeader has the id of the last event that a client got before.
	lastEventHeader = "Last-Event-ID"
	// gapEvent tells a client that events of a server may be missing before those that follow.
	gapEvent = "gap"
	// silentEvent tells it that no events of a server arrive now, and followedEvent that they do.
	silentEvent, followedEvent = "silent", "followed"

	// maxEvents and maxEventBytes limit what is kept for clients that reconnect.
	maxEvents     = 1024
	maxEventBytes = 1 << 20
	// maxStreams is how many of the maxRequests at once may be streams.
	maxStreams = maxRequests / 2
	// maxStreamsEach is how many of them one caller may have, so that there is room for others.
	maxStreamsEach = maxStreams / 2
	// streamTime is the time after which a stream ends and its client reconnects, so that a
	// stream is bounded as every request is.
	streamTime = 25 * time.Second
	// beatEvery is how often a stream sends a comment, which shows its reader that it is alive.
	beatEvery = 2 * time.Second
	// admitEvery is how often a stream checks whether its caller is still admitted, also while
	// nothing happens.
	admitEvery = 500 * time.Millisecond
)

// Events keeps the newest events of a server, and wakes the streams that follow them. Create
// it with NewEvents.
type Events struct {
	// life distinguishes the ids of this process from those of another.
	life string

	mu    sync.Mutex
	kept  []event       // guarded by mu, the newest last
	bytes int           // of kept, guarded by mu
	count int64         // of all events so far, guarded by mu
	added chan struct{} // closed at the next event, guarded by mu
}

// event is something that happened.
type event struct {
	kind, job string
	data      []byte
}

// NewEvents returns empty Events.
func NewEvents() *Events { return &Events{life: rand.Text()[:8], added: make(chan struct{})} }

// Add adds an event: data is JSON in one line. It does not block. It drops the
// oldest events beyond maxEvents and maxEventBytes, but never the new one.
func (e *Events) Add(kind, job string, data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	data = bytes.TrimSpace(data)
	e.kept, e.bytes, e.count = append(e.kept, event{kind, job, data}), e.bytes+len(data), e.count+1
	for len(e.kept) > maxEvents || e.bytes > maxEventBytes && len(e.kept) > 1 {
		e.bytes -= len(e.kept[0].data)
		e.kept = e.kept[1:]
	}
	close(e.added)
	e.added = make(chan struct{})
}

// after returns the events after the first seen ones, and a channel that is closed when
// there are more. gap reports whether some events before these were dropped.
func (e *Events) after(seen int64) (all []event, count int64, gap bool, more <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	oldest := e.count - int64(len(e.kept))
	return append(all, e.kept[max(0, seen-oldest):]...), e.count, seen < oldest, e.added
}

// seen returns the number of the last event that a client has received, by the id of its
// stream. A client without an id begins with the next event. An id without a place in this life
// of this server counts as none received, and gap tells the client that it may have missed some.
func (e *Events) seen(id string) (n int64, gap bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "" {
		return e.count, false
	}
	for _, p := range parsePlaces(id) {
		if p.life == e.life && p.n <= e.count {
			return p.n, false
		}
	}
	return 0, true
}

// streams counts the streams of a server, and limits them in total and per caller.
type streams struct {
	most, each int
	refusal    string // format of the error, with both limits

	mu  sync.Mutex
	all int            // guarded by mu
	of  map[string]int // by the keys of callers with streams, guarded by mu
}

// begin reports whether a caller may have another stream. If so, end must be called after it.
func (s *streams) begin(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.of[caller] >= s.each {
		return false
	}
	s.all++
	s.of[caller]++
	return true
}

// end makes room for another stream.
func (s *streams) end(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	s.of[caller]--
	if s.of[caller] == 0 {
		delete(s.of, caller)
	}
}

// tooMany is the problem of a caller for whom begin was false.
func (s *streams) tooMany() *problem {
	return refuse(http.StatusServiceUnavailable, codeBusy, fmt.Sprintf(s.refusal, s.most, s.each))
}

// beginStream counts the stream of a request until leave is called, or refuses it. Streams of servers are counted
// apart from those of callers, by server and once more by the caller that they name.
func (r *request) beginStream() (leave func(), err error) {
	h, key, name := r.h, r.caller.key(), r.caller.Name
	if r.caller.way != operator.ByServer {
		if !h.streams.begin(key) {
			return nil, h.streams.tooMany()
		}
		return func() { h.streams.end(key) }, nil
	}
	if !h.relayedFor.begin(name) {
		return nil, h.relayedFor.tooMany()
	}
	if !h.relayed.begin(key) {
		h.relayedFor.end(name)
		return nil, h.relayed.tooMany()
	}
	return func() {
		h.relayed.end(key)
		h.relayedFor.end(name)
	}, nil
}

// follow sends events as they come. For another server it sends only those of this one.
func follow(r *request) error {
	leave, err := r.beginStream()
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := context.WithTimeout(r.Context(), streamTime)
	s := newFeed(r)
	defer s.following.Wait() // for what followOthers has started
	defer end()
	r.w.Header().Set("Content-Type", eventsType)
	admit, beat := time.NewTicker(admitEvery), time.NewTicker(beatEvery)
	defer admit.Stop()
	defer beat.Stop()
	ended, _ := r.Context().Value(endedKey{}).(<-chan struct{}) // closed when the server stops
	s.followOthers(ctx, false)
	for {
		more := s.writeOwn()
		if s.text.Len() > 0 && (!r.stillAdmitted() || !r.push(&s.text)) {
			return nil
		}
		select {
		case <-more:
		case one := <-s.received:
			s.write(one)
		case <-beat.C:
			s.text.WriteString(":\n\n") // a comment
		case <-admit.C:
			if !r.stillAdmitted() {
				return nil
			}
			s.followOthers(ctx, true) // servers that have come since
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// endedKey is the key of a channel in a context, which is closed when the server stops.
type endedKey struct{}

// stillAdmitted reports whether the token or the session of a long request is still valid.
func (r *request) stillAdmitted() bool {
	if r.h.o.Authenticate == nil {
		return true
	}
	var err error
	if r.caller.way == operator.ByServer { // a signed request is accepted only once
		_, err = r.h.o.Servers.Server(r.caller.through.Key)
	} else {
		_, err = r.h.identify(r.Request)
	}
	return err == nil
}

// push sends the content of a buffer, and reports whether the client is still there.
func (r *request) push(text *bytes.Buffer) bool {
	_, err := text.WriteTo(r.w)
	return err == nil && http.NewResponseController(r.w).Flush() == nil
}
