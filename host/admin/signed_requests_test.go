package admin

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// ring stands in for the Keyring of a server.
type ring struct {
	own operator.OwnServer
	all map[string]operator.Server
	now time.Time
}

// rings returns the rings of servers that know each other.
func rings(t *testing.T, n int) []*ring {
	t.Helper()
	all := map[string]operator.Server{}
	var made []*ring
	for i := range n {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		s := operator.Server{Key: hex.EncodeToString(public), IP: "10.0.0." + strconv.Itoa(i+1), Address: "https://10.0.0." + strconv.Itoa(i+1) + ":8680"}
		all[s.Key] = s
		made = append(made, &ring{operator.OwnServer{Server: s, Private: private}, all, time.UnixMilli(1_800_000_000_000)})
	}
	return made
}

func (r *ring) Own() (operator.OwnServer, error) { return r.own, nil }

func (r *ring) Others() (others []operator.Server, err error) {
	for key, s := range r.all {
		if key != r.own.Key {
			others = append(others, s)
		}
	}
	return others, nil
}

func (r *ring) Server(key string) (operator.Server, error) {
	s, ok := r.all[key]
	if !ok {
		return s, &host.Error{Code: host.Denied, Msg: "no server of this cluster has that key"}
	}
	return s, nil
}

func (r *ring) Time() time.Time { return r.now }

var annViews = operator.Caller{Name: "ann", Role: operator.RoleViewer} // read only

// signedRequest is a request, "METHOD path", from one server to another one.
func signedRequest(t *testing.T, what string, from, to *ring, of operator.Caller, headers ...string) *http.Request {
	t.Helper()
	method, target, _ := strings.Cut(what, " ")
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), endedKey{}, over), method, target, nil)
	r.RemoteAddr = "10.0.0.1:1"
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Set(name, value)
	}
	if err := sign(r, from.own, to.own.Server, from.now, of); err != nil {
		t.Fatal(err)
	}
	return r
}

func answerTo(t *testing.T, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	checkAnswer(t, r.Method, r.URL.RequestURI(), w)
	return w
}

// claimed returns a signed request with a changed claim and the old signature.
func claimed(t *testing.T, r *http.Request, change func(map[string]any)) *http.Request {
	t.Helper()
	head, signature, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), signedScheme), ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", signedScheme+base64.RawURLEncoding.EncodeToString(text)+"."+signature)
	return r
}

// A request that another server has signed is answered once. It is refused if it is repeated,
// altered, old, has a higher role, or comes from a server outside the cluster.
func TestSignedRequests(t *testing.T) {
	t.Parallel()
	all := rings(t, 3)
	one, two, third := all[0], all[1], all[2]
	outsider := rings(t, 1)[0]
	late, early := *two, *two
	late.now, early.now = two.now.Add(-signedAge-time.Millisecond), two.now.Add(signedAge+time.Millisecond)
	const path = historyPath + "?job=report"
	good := func(headers ...string) *http.Request {
		return signedRequest(t, "GET "+path, two, one, annViews, headers...)
	}
	h, asked := guarded(Options{Servers: one})
	again := good()
	wantAnswer(t, "a good one", answerTo(t, h, again), "", asked.Load() == 1)
	wantAnswer(t, "one that was sent before", answerTo(t, h, again), "was sent before", asked.Load() > 1)
	wantAnswer(t, "one that was signed anew", answerTo(t, h, good()), "", asked.Load() == 2)
	for _, tt := range []struct {
		name string
		r    *http.Request
		want string // in the detail; empty: it is answered
	}{
		{"another path", altered(good(), func(r *http.Request) { r.URL.Path, r.RequestURI = runsPath+"report/0/1", runsPath+"report/0/1" }), "has signed"},
		{"another query", altered(good(), func(r *http.Request) { r.URL.RawQuery, r.RequestURI = "job=other", historyPath+"?job=other" }), "has signed"},
		{"another method", altered(good(), func(r *http.Request) { r.Method = http.MethodHead }), "has signed"},
		{"a body", altered(good(), func(r *http.Request) { r.Body = httptest.NewRequest(http.MethodGet, "/", strings.NewReader("{}")).Body }), "has signed"},
		{"another place in a stream", altered(good(lastEventHeader+": 1-5"), func(r *http.Request) { r.Header.Set(lastEventHeader, "1-6") }), "has signed"},
		{"a role that was raised", claimed(t, good(), func(c map[string]any) { c["role"] = "operator" }), "has signed"},
		{"another name", claimed(t, good(), func(c map[string]any) { c["name"] = "eve" }), "has signed"},
		{"another nonce", claimed(t, good(), func(c map[string]any) { c["nonce"] = "eve" }), "has signed"},
		{"a later time", claimed(t, good(), func(c map[string]any) { c["at"] = two.now.UnixMilli() + 1 }), "has signed"},
		{"of another server", claimed(t, good(), func(c map[string]any) { c["from"] = third.own.Key }), "has signed"},
		{"a member that nobody knows", claimed(t, good(), func(c map[string]any) { c["until"] = 1 }), "cannot be read"},
		{"an unknown role", signedRequest(t, "GET "+path, two, one, operator.Caller{Name: "ann", Role: "root"}), "a name and a role"},
		{"no role", signedRequest(t, "GET "+path, two, one, operator.Caller{Name: "ann"}), "a name and a role"},
		{"nobody", signedRequest(t, "GET "+path, two, one, operator.Caller{Role: operator.RoleViewer}), "a name and a role"},
		{"old", signedRequest(t, "GET "+path, &late, one, annViews), "of another time"},
		{"of the future", signedRequest(t, "GET "+path, &early, one, annViews), "of another time"},
		{"for another server", signedRequest(t, "GET "+path, two, third, annViews), "for another server"},
		{"of a server that nobody knows", signedRequest(t, "GET "+path, outsider, one, annViews), "no server of this cluster"},
		{"no signature", altered(good(), func(r *http.Request) { r.Header.Set("Authorization", signedScheme+"x") }), "cannot be read"},
		{"a long one", altered(good(), func(r *http.Request) { r.Header.Set("Authorization", signedScheme+strings.Repeat("x", maxSigned+1)) }), "more than"},
		{"and a token", altered(good(), func(r *http.Request) { r.Header.Add("Authorization", "Bearer admin") }), "Bearer TOKEN"},
	} {
		h, asked := guarded(Options{Servers: one})
		w := answerTo(t, h, tt.r)
		wantAnswer(t, tt.name, w, tt.want, asked.Load() > 0)
	}
}

// altered changes a request.
func altered(r *http.Request, change func(*http.Request)) *http.Request {
	change(r)
	return r
}

// wantAnswer checks that a request was answered, or refused before anything was read for it.
func wantAnswer(t *testing.T, what string, w *httptest.ResponseRecorder, refused string, reached bool) {
	t.Helper()
	if refused == "" && w.Code == http.StatusOK && reached {
		return
	}
	if p := problemIn(t, w); refused == "" || p.Code != codeUnauthenticated || !strings.Contains(p.Detail, refused) || reached {
		t.Errorf("%s is answered %d %s, want %q; it reached what is behind: %v", what, w.Code, w.Body, refused, reached)
	}
}

// A server can request only routes that travel, with the role that each needs, whatever the caller's role.
func TestRoutesForServers(t *testing.T) {
	t.Parallel()
	all := rings(t, 2)
	travel := 0
	for _, one := range routes() {
		if isOpen(one.path) {
			continue
		}
		if one.travels() {
			travel++
		}
		for _, role := range operator.Roles() {
			h, asked := guarded(Options{Servers: all[0], Sessions: operator.NewKeyring(nil, "wasmjobd", nil)})
			r := signedRequest(t, one.method+" "+filledIn.Replace(one.path), all[1], all[0], operator.Caller{Name: "ann", Role: role})
			w := answerTo(t, h, r)
			refused, want := w.Code == http.StatusForbidden, !one.travels() || role != one.role()
			if refused != want || refused && asked.Load() > 0 || w.Code == http.StatusUnauthorized {
				t.Errorf("%s %s as %s is answered %d %s", one.method, one.path, role, w.Code, w.Body)
			}
		}
	}
	if travel != len(travelling) || travel == 0 {
		t.Errorf("%d requests travel, and the table has %d", travel, len(travelling))
	}
}

// A deleting request is signed with its body, and checked as strictly as a reading one.
func TestSignedWrites(t *testing.T) {
	t.Parallel()
	all := rings(t, 3)
	one, two := all[0], all[1]
	purges := operator.Caller{Name: "ann", Role: operator.RoleAdmin}
	const body = `{"older_than":"720h","here":true}`
	good := func() *http.Request {
		r := signedRequest(t, "POST "+purgePath, two, one, purges) // signed without the body
		r.Body, r.Header = io.NopCloser(strings.NewReader(body)), http.Header{"Content-Type": {jsonType}}
		if err := sign(r, two.own, one.own.Server, two.now, purges); err != nil {
			t.Fatal(err)
		}
		return r
	}
	var deleted []Purge
	h := NewHandler(Options{Operate: onMemory, Servers: one, Authenticate: known, Purge: func(_ context.Context, p Purge) (int64, error) {
		deleted = append(deleted, p)
		return 7, nil
	}})
	for name, r := range map[string]*http.Request{
		"another body":        altered(good(), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"older_than":"1h","here":true}`)) }),
		"no body":             altered(good(), func(r *http.Request) { r.Body = http.NoBody }),
		"a longer body":       altered(good(), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body + " ")) }),
		"no dry run any more": altered(signedRequest(t, "POST "+purgePath+"?dry_run=true", two, one, purges), func(r *http.Request) { r.URL.RawQuery, r.RequestURI = "", purgePath }),
		"a raised role":       claimed(t, signedRequest(t, "POST "+purgePath, two, one, annViews), func(c map[string]any) { c["role"] = "admin" }),
		"for another server":  signedRequest(t, "POST "+purgePath, two, all[2], purges),
	} {
		if w := answerTo(t, h, r); w.Code != http.StatusUnauthorized || len(deleted) > 0 {
			t.Errorf("%s is answered %d %s, and deletes %+v", name, w.Code, w.Body, deleted)
		}
	}
	first := good()
	second := first.Header.Clone()
	if w := answerTo(t, h, first); w.Code != http.StatusOK || len(deleted) != 1 || deleted[0] != (Purge{Age: 720 * time.Hour, Here: true}) {
		t.Errorf("%d %s, %+v", w.Code, w.Body, deleted)
	}
	again := httptest.NewRequestWithContext(t.Context(), http.MethodPost, purgePath, strings.NewReader(body))
	again.Header = second
	if w := answerTo(t, h, again); w.Code != http.StatusUnauthorized || len(deleted) != 1 {
		t.Errorf("sent again it is answered %d %s, and deletes %+v", w.Code, w.Body, deleted)
	}
}

// A server that does not know the others yet says why.
func TestSignedRequestsTooEarly(t *testing.T) {
	t.Parallel()
	all := rings(t, 2)
	h, _ := guarded(Options{Servers: operator.NewKeyring(nil, "wasmjobd", nil)})
	if w := answerTo(t, h, signedRequest(t, "GET "+historyPath, all[1], all[0], annViews)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("it is answered %d %s", w.Code, w.Body)
	}
	h, _ = guarded(Options{})
	if w := answerTo(t, h, signedRequest(t, "GET "+historyPath, all[1], all[0], annViews)); w.Code != http.StatusUnauthorized {
		t.Errorf("a server without others answers %d %s", w.Code, w.Body)
	}
}

// Nonces are remembered for longer than their requests are accepted, and are bounded.
func TestNoncesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := nonces{until: map[string]time.Time{}}
		for i := range maxNonces {
			if first, room := n.first(strconv.Itoa(i), time.Now()); !first || !room {
				t.Fatalf("%d: %v, %v", i, first, room)
			}
		}
		if _, room := n.first("one more", time.Now()); room {
			t.Error("there is room for one more")
		}
		time.Sleep(nonceAge) // of virtual time
		if first, _ := n.first("0", time.Now()); first {
			t.Error("it is forgotten within its time")
		}
		time.Sleep(signedAge)
		if first, room := n.first("one more", time.Now()); !first || !room || len(n.until) != 1 {
			t.Errorf("afterwards %d are left", len(n.until))
		}
	})
}

// The stream to a server ends when that server has left the cluster.
func TestStreamOfAServerThatHasGone(t *testing.T) {
	t.Parallel()
	all := rings(t, 2)
	h, _ := guarded(Options{Servers: all[0]})
	asked := signedRequest(t, "GET "+historyPath, all[1], all[0], annViews)
	v, err := h.identify(asked)
	if err != nil {
		t.Fatal(err)
	}
	r := &request{Request: asked, h: h, caller: v}
	if !r.stillAdmitted() {
		t.Error("it is refused while it is there")
	}
	delete(all[0].all, all[1].own.Key)
	if r.stillAdmitted() {
		t.Error("it is admitted after it has gone")
	}
}
