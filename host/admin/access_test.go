package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// known stands in for the tokens of a cluster: a role's name is a token of that role.
func known(_ context.Context, token string) (operator.Caller, error) {
	switch token {
	case "expired", "revoked":
		return operator.Caller{}, &host.Error{Code: host.Denied, Msg: "the token was " + token}
	case "nobody-knows":
		return operator.Caller{}, &host.Error{Code: host.Unavailable, Msg: "read the tokens"}
	}
	role, err := operator.ParseRole(token)
	if err != nil {
		return operator.Caller{}, &host.Error{Code: host.Denied, Msg: "there is no such token"}
	}
	return operator.Caller{Name: "a " + token, Role: role}, nil
}

// guarded is a handler with all routes that requires tokens. asked counts requests that
// reached the registry, or something else behind a route.
func guarded(o Options) (h *Handler, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	operate := o.Operate
	if operate == nil {
		operate = onMemory
	}
	o.Operate = func(ctx context.Context) (*operator.Operator, error) {
		asked.Add(1)
		return operate(ctx)
	}
	o.Receive = func(io.Reader) (*host.ReceivedModule, error) {
		return nil, &host.Error{Code: host.Invalid, Msg: "no module is taken"}
	}
	o.Push = &operator.Push{}
	o.Runs, o.Nodes = ledger, true
	if o.Authenticate == nil {
		o.Authenticate = known
	}
	o.Check = func(context.Context, CheckWanted, InForce, RowsElsewhere) ([]Checked, error) { return nil, nil }
	o.Purge = func(context.Context, Purge) (int64, error) { return 0, nil }
	o.RetryModule = func(string, bool) (string, error) { return strings.Repeat("0a", 32), nil }
	o.Define = func(text operator.JobText) (job.Config, error) { return job.Config{Name: text.Name}, nil }
	o.Doctor = func() (host.Options, error) { return host.Options{}, nil }
	o.Prune = &operator.Prune{Remove: func(time.Time, bool, func() (map[string]bool, error)) ([]host.HeldModule, error) { return nil, nil }}
	o.Reload = func(context.Context, bool) (Reloaded, error) { return Reloaded{}, nil }
	if o.Logs == nil {
		o.Logs = &operator.RunLogs{History: func(context.Context, operator.RunName) ([]trace.Row, error) {
			asked.Add(1)
			return nil, nil
		}}
	}
	if o.Checks == nil {
		o.Checks = func() []Check { return nil }
	}
	if o.Events == nil {
		o.Events = NewEvents()
	}
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/plain")
	})
	return NewHandler(o), asked
}

// over is the channel of a stopped server, with which a stream ends after its present events.
var over = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// sent sends a request with headers, "name: value", from an address.
func sent(t testing.TB, h http.Handler, method, path, from string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), endedKey{}, over), method, path, nil)
	r.RemoteAddr = from
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	checkAnswer(t, method, path, w)
	return w
}

var filledIn = strings.NewReplacer("{job}", "report", "{item}", "0", "{run}", "1", "{address}", "10.0.0.1", "{token}", "ci", "{digest}", strings.Repeat("0a", 32), "{version}", "report@1.4.0")

// Without a token, not even the absence of a path is revealed.
func TestNobodyLearnsWithoutAToken(t *testing.T) {
	t.Parallel()
	h, _ := guarded(Options{})
	for i, path := range []string{"/", "/api/v1/jobs/../jobs", "/api/v1/nothing", "/api/v1/jobs/report:explode", "/healthz/", "//healthz"} {
		w := sent(t, h, http.MethodGet, path, fmt.Sprintf("10.0.0.%d:1", i))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s is answered %d %s", path, w.Code, w.Body)
		}
	}
	for i, header := range []string{"Bearer", "Bearer ", "Basic admin", "admin", "Bearer " + strings.Repeat("x", maxToken+1)} {
		w := sent(t, h, http.MethodGet, "/api/v1/jobs", fmt.Sprintf("10.0.1.%d:1", i), "Authorization: "+header)
		if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "xxx") {
			t.Errorf("%.20s is answered %d %s", header, w.Code, w.Body)
		}
	}
	if w := sent(t, h, http.MethodGet, "/api/v1/jobs", "10.0.2.1:1", "Authorization: Bearer viewer", "Authorization: Bearer admin"); w.Code != http.StatusUnauthorized {
		t.Errorf("two tokens are answered %d", w.Code)
	}
	if w := sent(t, h, http.MethodGet, openAPIPath, "10.0.2.2:1", "Authorization: bearer viewer"); w.Code != http.StatusOK {
		t.Errorf("a scheme in lower case is answered %d", w.Code)
	}
}

// A page of another site changes nothing, even with a token.
func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	h, asked := guarded(Options{})
	for i, tt := range []struct {
		method, path string
		status       int
		headers      []string
	}{
		{"POST", "/api/v1/jobs/report:pause", 403, []string{"Origin: https://evil.example"}},
		{"POST", "/api/v1/jobs/report:pause", 403, []string{"Origin: null"}},
		{"POST", "/api/v1/jobs/report:pause", 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"DELETE", "/api/v1/jobs/report", 403, []string{"Sec-Fetch-Site: same-site"}},
		{"PUT", "/api/v1/modules/x", 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"POST", "/api/v1/jobs/report:pause", 404, []string{"Origin: http://example.com"}}, // the name that httptest sends
		{"POST", "/api/v1/jobs/report:pause", 404, []string{"Sec-Fetch-Site: same-origin"}},
		{"GET", "/api/v1/servers", 404, []string{"Sec-Fetch-Site: cross-site"}},
	} {
		before := asked.Load()
		w := sent(t, h, tt.method, tt.path, fmt.Sprintf("10.0.0.%d:1", i), append(tt.headers, "Authorization: Bearer admin")...)
		if p := problemIn(t, w); w.Code != tt.status || (p.Code == codeCrossSite) != (tt.status == 403) || (asked.Load() > before) != (tt.status != 403) {
			t.Errorf("%s %s with %q is answered %d %+v", tt.method, tt.path, tt.headers, w.Code, p)
		}
	}
}

// Answers of all kinds tell browsers to be careful, and have an id.
func TestHeadersOfAnswers(t *testing.T) {
	t.Parallel()
	h, _ := guarded(Options{})
	ids := map[string]bool{}
	for i, path := range []string{openAPIPath, "/api/v1/jobs", healthPath, "/nothing", "/api/v1/jobs/report:pause"} {
		for j, token := range []string{"admin", "wrong"} {
			header := sent(t, h, http.MethodPost, path, fmt.Sprintf("10.0.%d.%d:1", i, j), "Authorization: Bearer "+token).Header()
			if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s with the token %s: %v", path, token, header)
			}
			ids[header.Get(requestIDHeader)] = true
		}
	}
	if len(ids) != 10 || ids[""] {
		t.Errorf("ids: %v", ids)
	}
}

// Only callers with a token learn what a server lacks.
func TestReady(t *testing.T) {
	t.Parallel()
	const fault = "the session is over"
	var log bytes.Buffer
	h, _ := guarded(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Checks: func() []Check { return []Check{{"registry", fault}, {"modules", ""}, {"history", "the disk is full"}} }})
	for token, want := range map[string]int{"": 0, "Authorization: Bearer viewer": 2} {
		w := sent(t, h, http.MethodGet, readyPath, "10.0.0.1:1", token)
		if p := problemIn(t, w); p.Code != codeNotReady || len(p.Errors) != want || strings.Contains(w.Body.String(), fault) != (want > 0) {
			t.Errorf("with %q: %d %s", token, w.Code, w.Body)
		}
		if w := sent(t, h, http.MethodGet, healthPath, "10.0.0.1:1", token); w.Code != http.StatusOK {
			t.Errorf("with %q the server is not alive: %d", token, w.Code)
		}
	}
	if log.Len() > 0 {
		t.Errorf("probes of a server that lacks something fill the log: %s", &log)
	}
	h, _ = guarded(Options{Alive: func(context.Context) error { return errors.New("the loop of report does not answer") }})
	for _, token := range []string{"", "Authorization: Bearer viewer", "Authorization: Bearer wrong"} { // a probe's token does not count
		w := sent(t, h, http.MethodGet, healthPath, "10.0.0.1:1", token)
		if p := problemIn(t, w); p.Code != codeStuck || strings.Contains(w.Body.String(), "report") {
			t.Errorf("with %q: %d %s", token, w.Code, w.Body)
		}
	}
	h, _ = guarded(Options{})
	if w := sent(t, h, http.MethodGet, readyPath, "10.0.0.1:1"); w.Code != http.StatusOK {
		t.Errorf("it lacks nothing, and answers %d", w.Code)
	}
}

// While tokens cannot be checked, a token that was right is enough for the metrics, and to learn
// what the server lacks.
func TestMonitoringWithoutARegistry(t *testing.T) {
	t.Parallel()
	h, _ := guarded(Options{
		Checks: func() []Check { return []Check{{"registry", "it is away"}} },
		Authenticate: func(_ context.Context, token string) (operator.Caller, error) {
			c, _ := known(t.Context(), token)
			return c, &host.Error{Code: host.Unavailable, Msg: "read the tokens"}
		},
	})
	for i, tt := range []struct {
		path, token string
		status      int
		says        string
	}{
		{metricsPath, "viewer", http.StatusOK, ""},
		{metricsPath, "expired", http.StatusServiceUnavailable, "read the tokens"},
		{readyPath, "viewer", http.StatusServiceUnavailable, "registry: it is away"},
		{readyPath, "expired", http.StatusServiceUnavailable, "the server is not ready"},
		{"/api/v1/jobs", "viewer", http.StatusServiceUnavailable, "read the tokens"},
	} {
		w := sent(t, h, http.MethodGet, tt.path, fmt.Sprintf("10.0.0.%d:1", i), "Authorization: Bearer "+tt.token)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s for %s is answered %d %s", tt.path, tt.token, w.Code, w.Body)
		}
	}
}

// Callers, and addresses with wrong tokens, have to wait if they ask too often; others do not.
func TestTooMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := guarded(Options{})
		count := func(n int, from, token string) (refused int) {
			for range n {
				if w := sent(t, h, http.MethodGet, readyPath, from, "Authorization: Bearer "+token); w.Code == http.StatusTooManyRequests {
					refused++
					if w.Header().Get("Retry-After") == "" || problemIn(t, w).Code != codeTooMany {
						t.Errorf("%v: %s", w.Header(), w.Body)
					}
				}
			}
			return refused
		}
		for _, step := range []struct {
			what, from, token string
			n, refused        int
		}{
			{"wrong tokens", "10.0.0.1:1", "wrong", failureBurst + 7, 7},
			{"from another port", "10.0.0.1:2", "wrong", 1, 1},
			{"a right token from there", "10.0.0.1:1", "viewer", 1, 0},
			{"another address", "10.0.0.2:1", "wrong", 1, 0},
			{"another address of a network", "[2001:db8::1]:1", "wrong", failureBurst, 0},
			{"of the same network", "[2001:db8::2]:1", "wrong", 1, 1},
			{"a caller", "10.0.0.3:1", "operator", callerBurst + 5, 5},
			{"the caller elsewhere", "10.0.0.4:1", "operator", 1, 1},
			{"another caller", "10.0.0.3:1", "admin", 1, 0},
		} {
			if got := count(step.n, step.from, step.token); got != step.refused {
				t.Errorf("%s: %d of %d are refused, want %d", step.what, got, step.n, step.refused)
			}
		}
		if w := sent(t, h, http.MethodGet, jobsPath, "10.0.0.1:1"); w.Code != http.StatusTooManyRequests || !strings.Contains(problemIn(t, w).Detail, "without a right token") {
			t.Errorf("who sends no token either is answered %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Second) // of virtual time
		if got := count(callerPerSecond+1, "10.0.0.3:1", "operator"); got != 1 {
			t.Errorf("after a second %d are refused", got)
		}
		time.Sleep(4 * time.Second) // one wrong token was refused a second ago
		if got := count(2, "10.0.0.1:1", "wrong"); got != 1 {
			t.Errorf("after five seconds %d of two wrong tokens are refused without a look", got)
		}
	})
}

// Refusals of requests without a token are limited per address, too, and so are their log lines.
// Named callers share no rate with addresses.
func TestUnnamedCallersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		h, _ := guarded(Options{Log: jsonLog(&text)})
		for range 2 * callerBurst {
			sent(t, h, http.MethodPost, reloadPath, "10.0.0.1:1", "Sec-Fetch-Site: cross-site")
			sent(t, h, http.MethodGet, jobsPath, "10.0.0.2:1", "Authorization: Bearer nobody-knows")
		}
		if got := strings.Count(text.String(), "\n"); got > 2*callerBurst {
			t.Errorf("%d requests without a name have %d lines in the log", 4*callerBurst, got)
		}
		for i := range maxRates {
			sent(t, h, http.MethodGet, healthPath, fmt.Sprintf("10.1.%d.%d:1", i/256, i%256))
		}
		for range callerBurst {
			sent(t, h, http.MethodGet, healthPath, "10.2.0.1:1")
		}
		if w := sent(t, h, http.MethodGet, readyPath, "10.2.0.2:1", "Authorization: Bearer viewer"); w.Code != http.StatusOK {
			t.Errorf("a caller among many addresses is answered %d %s", w.Code, w.Body)
		}
	})
}

// The memory for rates is bounded for any number of keys, and an early key has its own rate.
func TestRatesAreBounded(t *testing.T) {
	t.Parallel()
	l, now := newRates(2, 1), time.Unix(1e9, 0)
	l.take("first", now)
	for i := range 3 * maxRates {
		l.take(fmt.Sprint(i), now)
	}
	if len(l.of) > maxRates+1 {
		t.Errorf("%d keys", len(l.of))
	}
	if l.take("one more", now) == 0 {
		t.Error("who comes when the table is full has a rate of its own")
	}
	if l.take("first", now) != 0 || l.take("first", now) == 0 {
		t.Error("a key that came first has lost its own rate")
	}
	now = now.Add(time.Minute)
	if l.take("new", now) != 0 || len(l.of) > 2 {
		t.Errorf("after a minute %d keys stay", len(l.of))
	}
}

func jsonLog(to io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(to, nil)) }

// The log shows which caller has written what, and no token.
func TestWritesAreLogged(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	h, _ := guarded(Options{Log: jsonLog(&text)})
	w := sent(t, h, http.MethodPost, reloadPath, "10.0.0.1:1", "Authorization: Bearer admin")
	for _, want := range []string{`"caller":"a admin"`, `"role":"admin"`, `"request_id":"` + w.Header().Get(requestIDHeader) + `"`, `"route":"POST /api/v1/config:reload"`} {
		if w.Code != http.StatusOK || !strings.Contains(text.String(), want) {
			t.Errorf("answered %d, and the log has no %s: %s", w.Code, want, text.String())
		}
	}
	sent(t, h, http.MethodPost, reloadPath, "10.0.0.1:1", "Authorization: Bearer not-a-secret")
	if !strings.Contains(text.String(), codeUnauthenticated) || strings.Contains(text.String(), "not-a-secret") {
		t.Error(text.String())
	}
}

// The audit shows which caller has written what, and by which request.
func TestAuditNamesTheCaller(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	byToken := sent(t, NewHandler(Options{Operate: s.operate, Authenticate: known}), http.MethodPost, "/api/v1/jobs/report:pause", "10.0.0.1:1", "Authorization: Bearer operator")
	bySocket := sent(t, NewHandler(Options{Operate: s.operate}), http.MethodPost, "/api/v1/jobs/report:resume", "")
	op, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := op.Audit(t.Context(), operator.AuditFilter{})
	if err := errors.Join(err, op.Close()); err != nil || len(rows) != 2 {
		t.Fatalf("%+v: %v", rows, err)
	}
	want := []operator.Author{
		{Name: socketUser.Name, Way: operator.BySocket, Role: operator.RoleAdmin, Request: bySocket.Header().Get(requestIDHeader)},
		{Name: "a operator", Way: operator.ByToken, Role: operator.RoleOperator, Request: byToken.Header().Get(requestIDHeader)},
	}
	for i, r := range rows {
		if r.Author != want[i] || r.Job != "report" {
			t.Errorf("row %d is %+v, want %+v", i, r, want[i])
		}
	}
}
