package admin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/runlog"
)

// place is the id of an event of this server alone.
func (e *Events) place(n int64) string { return place{e.life, n}.String() }

// number is the data of an event.
func number(i int) []byte { return fmt.Appendf(nil, "{\"n\":%d}\n", i) }

// eventsIn returns the kinds and data of the events in a stream, and the id of the last one.
func eventsIn(stream string) (all []string, last string) {
	for part := range strings.SplitSeq(stream, "\n\n") {
		var kind string
		for line := range strings.SplitSeq(part, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				last = value
			case "event":
				kind = value
			case "data":
				all = append(all, kind+" "+value)
			}
		}
	}
	return all, last
}

// A client that reconnects gets the events since then, and learns if it may have missed some.
func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	events := NewEvents()
	h, _ := guarded(Options{Events: events})
	get := func(last, query string) ([]string, string) {
		return eventsIn(sent(t, h, http.MethodGet, eventsPath+query, "10.0.0.1:1", "Authorization: Bearer viewer", lastEventHeader+": "+last).Body.String())
	}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			events.Add("start", []string{"even", "odd"}[i%2], number(i))
		}
	}
	add(0, 3)
	if all, _ := get("", ""); all != nil {
		t.Errorf("who comes new gets what was: %q", all)
	}
	first := events.place(1)
	all, last := get(first, "")
	if want := []string{`start {"n":1}`, `start {"n":2}`}; !slices.Equal(all, want) || last != events.place(3) {
		t.Errorf("%q up to %q, want %q", all, last, want)
	}
	if all, _ := get(first, "?job=even"); !slices.Equal(all, []string{`start {"n":2}`}) {
		t.Errorf("of one job: %q", all)
	}
	if all, _ := get(last, ""); all != nil {
		t.Errorf("again: %q", all)
	}
	for _, unknown := range []string{"another7-1", events.place(4), events.place(-1), events.life, "x", events.life + "-x"} {
		if all, last := get(unknown, ""); len(all) != 4 || all[0] != "gap {}" || last != events.place(3) {
			t.Errorf("after %q: %q up to %q", unknown, all, last)
		}
	}
	add(3, maxEvents+3)
	if all, _ := get(first, ""); len(all) != maxEvents+1 || all[0] != "gap {}" || all[1] != `start {"n":3}` {
		t.Errorf("after too many: %d, %q", len(all), all[:2])
	}
	if all, _ := get(events.place(3), ""); len(all) != maxEvents || all[0] != `start {"n":3}` {
		t.Errorf("after the most that are kept: %d, %q", len(all), all[:2])
	}
	events.Add("end", "large", bytes.Repeat([]byte("1"), maxEventBytes+1))
	if len(events.kept) != 1 || events.bytes != maxEventBytes+1 {
		t.Errorf("%d events with %d bytes are kept", len(events.kept), events.bytes)
	}
}

// stream opens a stream with headers, "name: value", and returns its lines.
func stream(t *testing.T, address string, headers ...string) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != eventsType {
		t.Fatalf("answered %d %q", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	return bufio.NewScanner(answer.Body)
}

// until reads up to a line with a text, and reports whether it came before the end of the stream.
func until(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

// Events arrive as they happen, until the token is revoked.
func TestEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	events := NewEvents()
	h := NewHandler(Options{Operate: onMemory, Events: events, Authenticate: func(ctx context.Context, token string) (operator.Caller, error) {
		if revoked.Load() {
			token = "revoked"
		}
		return known(ctx, token)
	}})
	lines := stream(t, serveTCP(t, TLS{}, h)+eventsPath, "Authorization: Bearer viewer")
	if !until(lines, "retry: ") { // it is open
		t.Fatal("the stream ends at once")
	}
	for i := range 3 {
		events.Add("start", "report", number(i))
		if !until(lines, fmt.Sprintf(`data: {"n":%d}`, i)) {
			t.Fatalf("event %d did not come", i)
		}
	}
	revoked.Store(true)
	events.Add("start", "report", number(3))
	if until(lines, "data: ") {
		t.Error("an event came to who has no valid token any more")
	}
}

// A stream ends in time. The number of streams is limited, per caller and in total.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := guarded(Options{})
		begun := time.Now()
		var streams sync.WaitGroup
		for _, tt := range []struct {
			token, busy string // busy: the caller that gets no further stream
		}{{"viewer", "viewer"}, {"operator", "admin"}} {
			for range maxStreamsEach {
				streams.Go(func() {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, eventsPath, nil)
					r.Header.Set("Authorization", "Bearer "+tt.token)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != http.StatusOK {
						t.Errorf("%s is answered %d %s", tt.token, w.Code, w.Body)
					}
				})
			}
			synctest.Wait()
			w := sent(t, h, http.MethodGet, eventsPath, "10.0.0.1:1", "Authorization: Bearer "+tt.busy)
			if p := problemIn(t, w); p.Code != codeBusy {
				t.Errorf("one more of %s is answered %d %s", tt.busy, w.Code, w.Body)
			}
		}
		streams.Wait()
		if took := time.Since(begun); took != streamTime {
			t.Errorf("they took %s", took)
		}
	})
}

// Any id of a client leads to the number of an event, or to a gap.
func FuzzLastEvent(f *testing.F) {
	events := NewEvents()
	for i := range 5 {
		events.Add("start", "report", number(i))
	}
	for _, id := range []string{"", events.place(0), events.place(5), events.place(6), events.life + "-", events.life + "-9223372036854775808", "-1", events.life + "-+3", events.life + "-1-1", "another7-9," + events.place(2), events.place(2) + "," + events.place(2), events.place(2) + ","} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		n, gap := events.seen(id)
		switch {
		case n < 0 || n > 5 || gap && n != 0:
			t.Errorf("%q is event %d, gap %v", id, n, gap)
		case id != "" && !gap && !slices.Contains(parsePlaces(id), place{events.life, n}):
			t.Errorf("%q has no such place", id)
		}
	})
}

// Streams without events end within a second of the token's revocation.
func TestStreamsEndWithTheToken(t *testing.T) {
	t.Parallel()
	for _, path := range []string{eventsPath, someRun + "/follow"} {
		synctest.Test(t, func(t *testing.T) {
			live := &runlog.Logs{}
			_, lines := live.Begin(slog.New(slog.DiscardHandler), "report/0/1", 2)
			defer live.End(lines)
			var revoked atomic.Bool
			h := NewHandler(Options{Operate: onMemory, Events: NewEvents(), Logs: &operator.RunLogs{Live: live, History: attempted}, Authenticate: func(ctx context.Context, token string) (operator.Caller, error) {
				if revoked.Load() {
					token = "revoked"
				}
				return known(ctx, token)
			}})
			var following sync.WaitGroup
			following.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Header.Set("Authorization", "Bearer viewer")
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					t.Errorf("%s is answered %d %s", path, w.Code, w.Body)
				}
			})
			time.Sleep(streamTime / 2)
			revoked.Store(true)
			at := time.Now()
			following.Wait()
			if late := time.Since(at); late > time.Second {
				t.Errorf("%s went on for %s", path, late)
			}
		})
	}
}

// A browser gets events by its cookie until its session ends.
func TestEventsOfABrowser(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	c, stop := newCluster(t, s.registry)
	t.Cleanup(stop)
	events := NewEvents()
	h := NewHandler(Options{Operate: c.operate, Authenticate: c.authenticate, Sessions: c.keyring, Events: events})
	in := c.signIn(t, c.token(t, "ann", operator.RoleViewer, 0))
	lines := stream(t, serveTCP(t, TLS{}, h)+eventsPath, cookied(in)...)
	if !until(lines, "retry: ") {
		t.Fatal("the stream ends at once")
	}
	events.Add("start", "report", number(1))
	if !until(lines, `data: {"n":1}`) {
		t.Fatal("no event came")
	}
	if err := c.op.SignOut(t.Context(), in.Secret); err != nil {
		t.Fatal(err)
	}
	if until(lines, "data: ") {
		t.Error("an event came to who is signed out")
	}
	w := sent(t, h, http.MethodDelete, sessionPath, "10.0.0.1:1", cookied(in)...)
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("a second sign-out: %d %s, %q", w.Code, w.Body, w.Header().Get("Set-Cookie"))
	}
}
