package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	// maxFollowed limits the other servers of one stream, and maxRelayed the streams that a server sends
	// to others.
	maxFollowed, maxRelayed = 32, 32
	// silentAfter is the time after which a server counts as silent if nothing comes from it, not even a
	// comment.
	silentAfter = 5 * time.Second
	// followAgain is the longest pause between two tries to follow a server.
	followAgain = time.Second
	// maxEventLine and maxEventKind limit what another server sends, in bytes.
	maxEventLine = 2 * maxEventBytes
	maxEventKind = 32
	// unknownPlace is an id without a place of any server.
	unknownPlace = "-"
)

// feed is the stream of a client: events of this server and, unless the client is a server, of the
// others. Only the goroutine of its request uses it.
type feed struct {
	r      *request
	text   bytes.Buffer // not sent yet
	lastID string       // the id of the client's last event, by its own account; "": it has none
	places places

	own  bool // events of this server are wanted
	at   aboutServer
	seen int64 // number of this server's events that were written or skipped
	gap  bool  // events of this server may be missing

	received  chan received
	following sync.WaitGroup
	others    map[string]bool // addresses of the servers that are followed
	warned    string          // the reason in the last warning
}

// aboutServer is the data of an event about a server itself.
type aboutServer struct {
	Server  string `json:"server,omitempty"`  // as `server list` names it
	Address string `json:"address,omitempty"` // at which others ask it
	Reason  string `json:"reason,omitempty"`
}

// received is an event of another server. Without a kind it only has a new place.
type received struct {
	from aboutServer
	kind string
	data []byte
	to   *place // the client's new place; nil: unchanged
}

// newFeed returns the feed of a request. It continues after the event that the client names as its last one.
func newFeed(r *request) *feed {
	s := &feed{r: r, lastID: r.Header.Get(lastEventHeader), received: make(chan received), others: map[string]bool{}, own: true}
	s.places.of = map[string]place{}
	if s.lastID != "" && parsePlaces(s.lastID) == nil { // it is not an id of ours
		s.lastID = unknownPlace
	}
	if r.asksOthers() {
		s.places.left = parsePlaces(s.lastID)
		if own, err := r.h.o.Servers.Own(); err == nil {
			s.at = aboutServer{Server: own.IP, Address: own.Address}
		}
	}
	s.own = s.wants(s.at.Server)
	s.text.WriteString("retry: 100\n\n") // the client reconnects after 100 ms
	if s.own {
		s.seen, s.gap = r.h.o.Events.seen(s.lastID)
		s.places.reached("", place{r.h.o.Events.life, s.seen})
	}
	if s.own && !s.gap { // a client that reconnects before the first event needs an id
		s.write(received{})
	}
	return s
}

// wants reports whether events of a server are wanted.
func (s *feed) wants(ip string) bool {
	only := s.r.query.Get("server")
	return only == "" || only == ip
}

// write adds an event to the text for the client.
func (s *feed) write(h received) {
	if h.to != nil {
		s.places.reached(h.from.Address, *h.to)
	}
	// The client sends the id when it reconnects. With an empty one it would miss all events until then.
	fmt.Fprintf(&s.text, "id: %s\n", cmp.Or(s.places.id(), unknownPlace))
	if h.kind != "" {
		fmt.Fprintf(&s.text, "event: %s\ndata: %s\n", h.kind, h.data)
	}
	s.text.WriteByte('\n')
}

// notice makes h an event about its server itself: that events are missing, do not come, or come again.
func (h received) notice(kind, reason string) received {
	about := h.from
	about.Reason = reason
	h.kind, h.data = kind, dataOf(about)
	return h
}

// dataOf is the data of an event about a server.
func dataOf(about aboutServer) []byte {
	data, err := json.Marshal(about)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return data
}

// writeOwn adds the new events of this server, and returns a channel that is closed when there are more; nil if they
// are not wanted. If the client has missed some, it first adds an event that says so.
func (s *feed) writeOwn() (more <-chan struct{}) {
	if !s.own {
		return nil
	}
	events, job := s.r.h.o.Events, s.r.query.Get("job")
	all, count, forgotten, more := events.after(s.seen)
	if s.gap || forgotten { // the client's id has no place here, or events after it were dropped
		s.places.reached("", place{events.life, count - int64(len(all))})
		s.write(received{from: s.at}.notice(gapEvent, ""))
	}
	s.seen, s.gap = count, false
	for i, one := range all {
		if job == "" || one.job == job {
			s.places.reached("", place{events.life, count - int64(len(all)-i-1)})
			s.write(received{kind: one.kind, data: one.data})
		}
	}
	return more
}

// followOthers follows the other servers that it does not follow yet. later is false in the first call.
func (s *feed) followOthers(ctx context.Context, later bool) {
	if !s.r.asksOthers() {
		return
	}
	all, err := s.r.h.o.Servers.Others()
	if err != nil {
		s.warn("the other servers cannot be found: " + err.Error())
	}
	id := s.lastID
	if later && id == "" {
		id = unknownPlace // "" would leave out what has happened since the stream began
	}
	for _, one := range all {
		to := aboutServer{Server: one.IP, Address: one.Address}
		switch {
		case s.others[to.Address] || !s.wants(to.Server):
		case len(s.others) == maxFollowed:
			s.warn(fmt.Sprintf("a stream has the events of at most %d other servers; select one by its address", maxFollowed))
		default:
			s.others[to.Address] = true
			s.following.Go(func() { s.followServer(ctx, to, id) })
		}
	}
	if !s.own && len(s.others) == 0 {
		s.warn("no server that can be asked is at this address")
	}
}

// warn sends the client an event that says why events of servers are missing, once per reason.
func (s *feed) warn(reason string) {
	if s.warned != reason {
		s.warned = reason
		s.write(received{from: aboutServer{Server: s.r.query.Get("server")}}.notice(silentEvent, reason))
	}
}

// followServer passes on the events of another server until ctx ends, and opens a new stream whenever one
// ends. id is the id of the client's last event.
func (s *feed) followServer(ctx context.Context, from aboutServer, id string) {
	pass := func(h received) {
		h.from = from
		select {
		case s.received <- h:
		case <-ctx.Done():
		}
	}
	lastNotice := "" // a kind, which is not passed on twice in a row
	notify := func(kind, reason string) {
		if lastNotice != kind {
			lastNotice = kind
			pass(received{from: from}.notice(kind, reason))
		}
	}
	pauses := backoff.Backoff{Last: followAgain}
	for ctx.Err() == nil {
		came := false
		err := s.listen(ctx, from.Address, id, func(h received) {
			came, id = true, h.to.String()
			notify(followedEvent, "")
			if h.kind == gapEvent {
				h.from = from
				h = h.notice(gapEvent, "")
			}
			pass(h)
		})
		if came {
			pauses = backoff.Backoff{Last: followAgain}
		}
		if err != nil || !came { // else the server has ended the stream after streamTime
			notify(silentEvent, fmt.Sprintf("%.300v", cmp.Or(err, errNoEvents)))
			id = cmp.Or(id, unknownPlace) // "" would leave out what happens until the next stream
		}
		select {
		case <-time.After(pauses.Next()):
		case <-ctx.Done():
			return
		}
	}
}

var (
	errNoEvents = errors.New("it ended a stream without an event")
	errSilent   = errors.New("it sends nothing")
	errHasLeft  = errors.New("it is not in the registry")
)

// listen reads one stream of another server until it ends, and passes on its events. id is the id of the last event
// that the client has of it. It gives up if nothing comes for silentAfter.
func (s *feed) listen(ctx context.Context, address, id string, take func(received)) error {
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := time.AfterFunc(silentAfter, func() { end(errSilent) })
	defer watch.Stop()
	c, err := s.clientOf(address)
	if err != nil {
		return err
	}
	path := eventsPath
	if job := s.r.query.Get("job"); job != "" {
		path += "?" + url.Values{"job": {job}}.Encode()
	}
	r, err := c.newRequest(within, http.MethodGet, path, "", http.NoBody)
	if err != nil {
		return err
	}
	if id != "" {
		r.Header.Set(lastEventHeader, id)
	}
	answer, err := c.do(r)
	if err != nil {
		return fmt.Errorf("follow its events: %w", cmp.Or(context.Cause(within), err))
	}
	defer func() { _ = answer.Body.Close() }()
	err = readEvents(answer.Body, func() { watch.Reset(silentAfter) }, func(h received) {
		watch.Stop() // the client may be slow
		take(h)
		watch.Reset(silentAfter)
	})
	if err != nil {
		return fmt.Errorf("follow its events: %w", cmp.Or(context.Cause(within), err))
	}
	return nil
}

// clientOf returns a client of the server that has an address now. A restarted server has another key.
func (s *feed) clientOf(address string) (*Client, error) {
	all, err := s.r.h.o.Servers.Others()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Address == address {
			return s.r.clientOf(one, operator.View)
		}
	}
	return nil, errHasLeft
}

// readEvents passes on the events of another server, each with a place. It calls alive at each line. It refuses
// silent and followed events, which only this server may send.
func readEvents(body io.Reader, alive func(), take func(received)) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventLine)
	var h received
	for lines.Scan() {
		alive()
		name, value, _ := strings.Cut(lines.Text(), ": ")
		var err error
		switch {
		case name == "id":
			if at := parsePlaces(value); len(at) == 1 {
				h.to = &at[0]
			}
		case name == "event":
			h.kind = value
		case name == "data":
			var line bytes.Buffer // without line breaks, which would end the field
			err = json.Compact(&line, []byte(value))
			h.data = line.Bytes()
		case lines.Text() == "" && (h.to != nil || h.kind != ""):
			// Each event has a place. Without a kind it has no data either, and only the place counts.
			if h.to == nil || (h.kind == "") != (h.data == nil) || !isEventKind(h.kind) || h.kind == silentEvent || h.kind == followedEvent {
				return notEvents(nil)
			}
			take(h)
			h = received{}
		}
		if err != nil {
			return notEvents(err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read them: %w", err)
	}
	return nil
}

// notEvents is the error of a server that does not follow the format.
func notEvents(err error) error {
	return &host.Error{Code: host.Internal, Msg: "it sends something other than events", Err: err}
}

// isEventKind reports whether a text is empty or may be the kind of an event.
func isEventKind(kind string) bool {
	return len(kind) <= maxEventKind && strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") == ""
}
