package admin

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/runlog"
)

// listener reads a stream of events, and fails if one comes twice.
type listener struct {
	lines *bufio.Scanner
	last  string // the id of its last event
	data  []string
}

// read reads the events of a server.
func (s *peerServer) read(t *testing.T, token, query, last string) *listener {
	t.Helper()
	headers := []string{"Authorization: Bearer " + token}
	if last != "" {
		headers = append(headers, lastEventHeader+": "+last)
	}
	return &listener{lines: stream(t, strings.TrimPrefix(s.at, "http://")+eventsPath+query, headers...), last: last}
}

// until reads until each text has come in an event, "kind data".
func (r *listener) until(t *testing.T, texts ...string) {
	t.Helper()
	kind := ""
	for len(texts) > 0 {
		if !r.lines.Scan() {
			t.Fatalf("the stream ends before %q: %v", texts, r.lines.Err())
		}
		name, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch name {
		case "id":
			r.last = value
		case "event":
			kind = value
		case "data":
			if strings.Contains(value, `"n":`) {
				if slices.Contains(r.data, value) {
					t.Errorf("%s comes twice", value)
				}
				r.data = append(r.data, value)
			}
			texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(kind+" "+value, text) })
		}
	}
}

// again serves at the address of a stopped server, with other events.
func (s *peerServer) again(t *testing.T, events *Events) {
	t.Helper()
	l, err := ListenTCP(t.Context(), strings.TrimPrefix(s.at, "http://"), TLS{}, s.keyring, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.events = events
	h := NewHandler(Options{Operate: s.operate, Authenticate: s.authenticate, Servers: s.keyring, Events: events})
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := Serve(ctx, l, h); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		end()
		serving.Wait()
	})
}

// noticeOf is the text of an event about a server itself.
func noticeOf(kind string, s *peerServer) string {
	return kind + ` {"server":"` + s.ip + `","address":"` + s.at + `"`
}

// A client of any server gets the events of all: none is lost or comes twice, whichever server stops,
// restarts or joins, and whichever the client reads next.
func TestEventsOfAllServers(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	one, two, third := startPeer(t, s.registry, "10.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{}), startPeer(t, s.registry, "10.0.0.3", TLS{})
	token := one.token(t, "ann", operator.RoleViewer, 0)
	acquaint(t, token, one, two, third)
	n := 0
	add := func(to ...*peerServer) (texts []string) {
		for _, of := range to {
			n++
			of.events.Add("start", "report", number(n))
			texts = append(texts, fmt.Sprintf(`start {"n":%d}`, n))
		}
		return texts
	}
	add(one, two, third)
	r := one.read(t, token, "", "")
	r.until(t, noticeOf(followedEvent, two), noticeOf(followedEvent, third))
	for range 5 {
		r.until(t, add(one, two, third, third, one, two)...)
	}

	// One is cut off for a while, and one restarts.
	two.stop()
	r.until(t, noticeOf(silentEvent, two))
	missed := add(two, one)
	two.again(t, two.events)
	r.until(t, append(missed, noticeOf(followedEvent, two))...)
	third.stop()
	r.until(t, noticeOf(silentEvent, third))
	r.until(t, add(one, two)...)
	third.events = NewEvents()
	missed = add(third)
	third.again(t, third.events)
	r.until(t, append(missed, noticeOf(gapEvent, third), noticeOf(followedEvent, third))...)

	// The client continues at another server.
	missed = add(third, two, one)
	again := two.read(t, token, "", r.last)
	again.until(t, missed...)
	if len(again.data) != len(missed) || len(r.data)+len(again.data) != n-3 {
		t.Errorf("%d and %d of %d events, not %q", len(r.data), len(again.data), n, again.data)
	}
	joins := startPeer(t, s.registry, "10.0.0.4", TLS{})
	early := add(joins)
	again.until(t, append(early, noticeOf(followedEvent, joins))...)
	r.until(t, early...) // which came without an id

	// The events of one server can be selected.
	only := two.read(t, token, "?server=10.0.0.1&job=report", again.last)
	missed = add(two, third, one)
	only.until(t, missed[2])
	other := two.read(t, token, "?server=10.0.0.1&job=other", only.last)
	add(one)
	nobody := two.read(t, token, "?server=10.0.0.9", "")
	nobody.until(t, `silent {"server":"10.0.0.9","reason":"no server`)
	if nobody.last != unknownPlace {
		t.Errorf("the id of nobody's events is %q", nobody.last)
	}
	if len(only.data) != 1 || len(other.data)+len(nobody.data) > 0 {
		t.Errorf("of one server: %q, %q, %q", only.data, other.data, nobody.data)
	}
}

// A client that follows a server before its first event misses none of its events.
func TestEventsOfASilentServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	one, two := startPeer(t, s.registry, "10.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{})
	token := one.token(t, "ann", operator.RoleViewer, 0)
	acquaint(t, token, one, two)
	two.stop()
	r := one.read(t, token, "?server=10.0.0.2", "")
	r.until(t, noticeOf(silentEvent, two))
	two.events.Add("start", "report", number(1))
	two.again(t, two.events)
	again := one.read(t, token, "?server=10.0.0.2", r.last)
	again.until(t, noticeOf(gapEvent, two), `start {"n":1}`)
}

// A malformed stream of another server is not passed on.
func TestEventsOfABrokenServer(t *testing.T) {
	t.Parallel()
	const at = "id: ABCDEFGH-1\n"
	for name, tt := range map[string]struct {
		text string
		want int  // events
		fair bool // there is no error
	}{
		"events":              {"retry: 100\n\n" + at + "\n:\n\n" + at + "event: start\ndata: {\"n\": 1}\n\n", 2, true},
		"one that is cut off": {at + "event: start\ndata: {}\n", 0, true},
		"no place":            {"event: start\ndata: {}\n\n", 0, false},
		"two places":          {"id: ABCDEFGH-1,ABCDEFGI-1\nevent: start\ndata: {}\n\n", 0, false},
		"no place as it was":  {"id: ABCDEFGH-01\nevent: start\ndata: {}\n\n", 0, false},
		"no data":             {at + "event: start\n\n", 0, false},
		"no kind":             {at + "data: {}\n\n", 0, false},
		"no JSON":             {at + "event: start\ndata: {\n\n", 0, false},
		"a kind with a line":  {at + "event: a\rdata: {}\ndata: {}\n\n", 0, false},
		"a long kind":         {at + "event: " + strings.Repeat("a", maxEventKind+1) + "\ndata: {}\n\n", 0, false},
		"a long line":         {at + "event: start\ndata: \"" + strings.Repeat("a", maxEventLine) + "\"\n\n", 0, false},
		"it is followed":      {at + "event: followed\ndata: {}\n\n", 0, false},
		"another is silent":   {at + "event: silent\ndata: {}\n\n", 0, false},
		"data with a line":    {at + "event: start\ndata: {\r\"n\": 1}\n\n", 1, true},
	} {
		all := 0
		err := readEvents(strings.NewReader(tt.text), func() {}, func(h received) {
			all++
			if strings.ContainsAny(string(h.data), "\r\n") {
				t.Errorf("%s: %q", name, h.data)
			}
		})
		if all != tt.want || (err == nil) != tt.fair {
			t.Errorf("%s: %d events, %v", name, all, err)
		}
	}
}

// A server cannot move the place of another one.
func TestPlacesAreOfOneServer(t *testing.T) {
	t.Parallel()
	all := places{of: map[string]place{}}
	all.reached("http://10.0.0.1", place{"LIFE0001", 1})
	all.reached("http://10.0.0.2", place{"LIFE0001", 9})
	if id := all.id(); id != "LIFE0001-1" {
		t.Errorf("the id is %s", id)
	}
	all.reached("http://10.0.0.2", place{"LIFE0002", 3})
	all.reached("http://10.0.0.1", place{"LIFE0001", 2})
	if id := all.id(); id != "LIFE0001-2,LIFE0002-3" {
		t.Errorf("then the id is %s", id)
	}
}

// Places are bounded, including those of servers that are gone.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	var old []string
	for i := range maxPlaces {
		old = append(old, place{fmt.Sprintf("%08d", i), int64(i)}.String())
	}
	id := strings.Join(old, ",")
	all := places{map[string]place{}, parsePlaces(id)}
	if all.id() != id || parsePlaces(id+",99999999-1") != nil {
		t.Errorf("%d places", len(all.left))
	}
	for i := range maxFollowed + 1 {
		all.reached(strconv.Itoa(i), place{fmt.Sprintf("LIFE%04d", i), 1 << 62})
	}
	if id = all.id(); len(parsePlaces(id)) != maxPlaces || len(id) > maxHead/2 {
		t.Errorf("%d places in %d bytes", len(parsePlaces(id)), len(id))
	}
}

// Streams for other servers, of events and of logs, have limits separate from those for callers. A caller that comes
// through many servers leaves room for others.
func TestRelayedStreamsAreBounded(t *testing.T) {
	t.Parallel()
	for _, path := range []string{eventsPath, someRun + "/follow"} {
		all := rings(t, 2)
		h, _ := guarded(Options{Servers: all[0], Logs: &operator.RunLogs{Live: &runlog.Logs{}, History: attempted}})
		full := make(chan struct{}) // the places of other requests
		limited := &limitedHandler{h: h, places: full, probes: full, relayed: make(chan struct{}, 1)}
		ask := func(of operator.Caller) int {
			return answerTo(t, limited, signedRequest(t, "GET "+path, all[1], all[0], of)).Code
		}
		for i := range maxStreams {
			h.streams.begin(strconv.Itoa(i))
		}
		for i := range maxRelayed {
			h.relayed.begin(strconv.Itoa(i))
		}
		if code := ask(annViews); code != http.StatusServiceUnavailable {
			t.Errorf("%s: one more is answered %d", path, code)
		}
		h.relayed.end("0")
		for range 2 { // each gives back what it had
			if code := ask(annViews); code != http.StatusOK {
				t.Errorf("%s: one less is answered %d", path, code)
			}
		}
		for range maxRelayed / 2 {
			h.relayedFor.begin(annViews.Name)
		}
		if code := ask(annViews); code != http.StatusServiceUnavailable {
			t.Errorf("%s: one more of a caller is answered %d", path, code)
		}
		if code := ask(operator.Caller{Name: "bob", Role: operator.RoleViewer}); code != http.StatusOK {
			t.Errorf("%s: another caller is answered %d", path, code)
		}
	}
}
