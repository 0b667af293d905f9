package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

// peerServer is one of several servers of a cluster: its keyring, and the data that only it
// has.
type peerServer struct {
	*cluster
	ip     string
	rows   []trace.Row // of its history, the newest first
	live   *runlog.Logs
	events *Events
	asked  atomic.Int64 // reads of its history
	at     string
	stop   func()
	disk   disk
	h      *Handler

	strays []trace.Row // that its last page has for any request
	broken error       // of its history
	vague  error       // of its history, in requests for all jobs
}

// runs returns pages of its rows.
func (s *peerServer) runs(_ context.Context, want RunsWanted) (page []trace.Row, next string, err error) {
	s.asked.Add(1)
	if s.broken != nil {
		return nil, "", s.broken
	}
	if s.vague != nil && want.Job == "" {
		return nil, "", s.vague
	}
	after, err := trace.ParsePlace(want.Cursor)
	if want.Cursor != "" && err != nil {
		return nil, "", &host.Error{Code: host.Invalid, Msg: "go on where a page ended", Err: err}
	}
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case want.Cursor != "" && trace.PlaceOf(r).Compare(after) >= 0, want.Job != "" && want.Job != r.Job, want.Run != "" && want.Run != r.Run, want.Item != nil && *want.Item != r.Item:
		case want.Until > 0 && r.Instant >= want.Until, r.Instant < want.Since, want.State != "" && want.State != r.State:
		case want.Limit > 0 && len(page) == want.Limit:
			return page, trace.PlaceOf(&page[len(page)-1]).String(), nil
		default:
			page = append(page, *r)
		}
	}
	return append(page, s.strays...), "", nil
}

// startPeer starts a server that others can ask, until the test ends.
func startPeer(t *testing.T, r registry.Registry, ip string, files TLS, rows ...trace.Row) *peerServer {
	t.Helper()
	c := &cluster{registry: r, keyring: operator.NewKeyring(r, "wasmjobd", nil)}
	s := &peerServer{cluster: c, ip: ip, rows: rows, live: &runlog.Logs{}, events: NewEvents()}
	l, err := ListenTCP(t.Context(), "127.0.0.1:0", files, c.keyring, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.at = "http://" + l.Addr().String()
	if files != (TLS{}) {
		s.at = "https://" + l.Addr().String()
	}
	c.keyring.Introduce(ip, s.at)
	if c.op, err = c.operate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.h = NewHandler(Options{
		Operate: c.operate, Authenticate: c.authenticate, Servers: c.keyring, Runs: s.runs, Prune: &operator.Prune{Remove: s.disk.prune}, Purge: s.disk.purge, Held: s.disk.list, Define: defined, Doctor: s.disk.options, Check: s.disk.check, Events: s.events,
		Logs: &operator.RunLogs{Live: s.live, History: func(ctx context.Context, n operator.RunName) ([]trace.Row, error) {
			rows, _, err := s.runs(ctx, RunsWanted{Job: n.Job, Run: n.Run, Item: &n.Item})
			return rows, err
		}},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running, serving sync.WaitGroup
	running.Go(func() { c.keyring.Run(ctx) })
	within, end := context.WithCancel(ctx)
	serving.Go(func() {
		if err := Serve(within, l, s.h); err != nil {
			t.Error(err)
		}
	})
	s.stop = func() { // it no longer answers, and the others do not know that yet
		end()
		serving.Wait()
	}
	t.Cleanup(func() {
		s.stop()
		cancel()
		running.Wait()
		if err := c.op.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// acquaint waits until each server knows the others and a token.
func acquaint(t *testing.T, token string, all ...*peerServer) {
	t.Helper()
	for again := time.NewTicker(time.Millisecond); ; <-again.C {
		ready := true
		for _, s := range all {
			others, err := s.keyring.Others()
			_, known := s.keyring.Check(token)
			ready = ready && err == nil && known == nil && len(others) >= len(all)-1
		}
		if ready {
			return
		}
	}
}

// client is a client of a server, with a token.
func (s *peerServer) client(t *testing.T, token string, authorities string) *Client {
	t.Helper()
	c, err := At(s.at, token, ClientTLS{CA: authorities})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.transport = conforming{t, c.transport.(*http.Transport)}
	return c
}

// rowAt is a row of an ended attempt.
func rowAt(instant int64, item, attempt int, state trace.State, log string) trace.Row {
	return trace.Row{
		Job: "report", Item: item, Run: strconv.FormatInt(instant, 10), Attempt: attempt, Instant: instant, Cause: trace.Schedule, State: state,
		Start: instant, End: instant + 1, TaskID: "t", Log: log, HasLog: log != "",
	}
}

// Any server answers for all: rows of all histories in pages, logs, why an item ran, and the
// retry of a run that only another server knows.
func TestServersAnswerForEachOther(t *testing.T) {
	t.Parallel()
	for name, secured := range map[string]bool{"TCP": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "report")
			files, ca := TLS{}, ""
			if secured {
				// A certificate for callers, whose authority the servers do not know.
				authorities := newAuthority(t)
				files = filesIn(t.TempDir())
				authorities.write(t, "server", files)
				ca = files.Cert + ".ca"
				writePEM(t, ca, "CERTIFICATE", authorities.cert.Raw)
			}
			now := time.Now().Truncate(time.Minute).UnixMilli()
			report, err := s.client.Job(t.Context(), "report")
			if err != nil {
				t.Fatal(err)
			}
			one := startPeer(t, s.registry, report.Members[0].ID.IP(), files, rowAt(now-1000, 0, 1, trace.Succeeded, "one\n"), rowAt(now-4000, 0, 1, trace.Succeeded, "four\n"))
			two := startPeer(t, s.registry, "10.0.0.2", files, rowAt(now-2000, 0, 2, trace.Failed, "again\n"), rowAt(now-3000, 0, 1, trace.Failed, "three\n"))
			third := startPeer(t, s.registry, "10.0.0.3", files, rowAt(now-2000, 0, 1, trace.Failed, "two\n"))
			token := one.token(t, "ann", operator.RoleOperator, 0)
			acquaint(t, token, one, two, third)
			for _, at := range []*peerServer{one, two, third} {
				wantWhole(t, at, token, ca, now)
			}
			wantRetried(t, s, one.client(t, token, ca), strconv.FormatInt(now-2000, 10))
			third.stop()
			wantUnread(t, one.client(t, token, ca), third.at, now)
		})
	}
}

// wantWhole checks that a server returns the data of all three.
func wantWhole(t *testing.T, s *peerServer, token, ca string, now int64) {
	t.Helper()
	c, ctx := s.client(t, token, ca), t.Context()
	var got []string
	want := RunsWanted{Job: "report", Limit: 2}
	for pages := 0; ; pages++ {
		page, err := c.Runs(ctx, want)
		if err != nil || len(page.Unread) > 0 || len(page.Rows) > want.Limit || pages > 3 {
			t.Fatalf("page %d: %+v, %v", pages, page, err)
		}
		for _, r := range page.Rows {
			got = append(got, fmt.Sprintf("%d/%d", now-r.Instant, r.Attempt))
		}
		if want.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if !slices.Equal(got, []string{"1000/1", "2000/2", "2000/1", "3000/1", "4000/1"}) {
		t.Errorf("%s lists %q", s.at, got)
	}
	item := 0
	shown, err := c.Runs(ctx, RunsWanted{Job: "report", Item: &item, Run: strconv.FormatInt(now-2000, 10)})
	if err != nil || len(shown.Rows) != 2 || shown.Rows[0].Log != "again\n" || shown.Rows[1].Log != "two\n" {
		t.Errorf("%s shows %+v, %v", s.at, shown, err)
	}
	all, unread, err := c.RunLog(ctx, operator.RunName{Job: "report", Run: strconv.FormatInt(now-2000, 10)})
	if err != nil || len(unread) > 0 || len(all) != 2 || all[0].Log != "two\n" || all[1].Log != "again\n" {
		t.Errorf("%s has the logs %+v, %q, %v", s.at, all, unread, err)
	}
	e, err := c.Explain(ctx, operator.Question{Job: "report", At: time.UnixMilli(now - 3000)})
	if err != nil || len(e.Items) != 1 || e.Items[0].Verdict != operator.Ran || e.Items[0].State != trace.Failed || len(e.Unread) > 0 {
		t.Errorf("%s explains %+v, %v", s.at, e, err)
	}
	_, err = c.Runs(ctx, RunsWanted{Job: "report", Item: &item, Run: "7"})
	wantCode(t, "a run that nobody has", err, host.NotFound, "no history has a run")
}

// wantRetried retries a run, and waits until it runs.
func wantRetried(t *testing.T, s *server, c *Client, run string) {
	t.Helper()
	asked, err := c.Retry(t.Context(), "report", run, nil)
	if err != nil || asked.Run != run || len(asked.Items) != 1 || len(asked.Unread) > 0 {
		t.Errorf("asked for %+v, %v", asked, err)
		return
	}
	<-s.ran
}

// wantUnread checks the answers while the server at an address is silent.
func wantUnread(t *testing.T, c *Client, address string, now int64) {
	t.Helper()
	names := func(unread []string) bool { return len(unread) == 1 && strings.HasPrefix(unread[0], address+" (") }
	page, err := c.Runs(t.Context(), RunsWanted{Job: "report"})
	if err != nil || len(page.Rows) != 4 || !names(page.Unread) {
		t.Errorf("%d rows, %q, %v", len(page.Rows), page.Unread, err)
	}
	all, unread, err := c.RunLog(t.Context(), operator.RunName{Job: "report", Run: strconv.FormatInt(now-2000, 10)})
	if err != nil || len(all) != 1 || !names(unread) {
		t.Errorf("%d logs, %q, %v", len(all), unread, err)
	}
	e, err := c.Explain(t.Context(), operator.Question{Job: "report", At: time.UnixMilli(now - 1000)})
	if err != nil || !names(e.Unread) {
		t.Errorf("explained %+v, %v", e, err)
	}
	item := 0
	_, err = c.Runs(t.Context(), RunsWanted{Job: "report", Item: &item, Run: "7"})
	wantCode(t, "a run that nobody who answers has", err, host.Unavailable, address)
	_, err = c.Retry(t.Context(), "report", "7", nil)
	wantCode(t, "a retry of it", err, host.NotFound, address)
}

// The log of a run on another server can be followed.
func TestFollowedOnAnotherServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	one, two := startPeer(t, s.registry, "10.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{})
	token := one.token(t, "ann", operator.RoleViewer, 0)
	acquaint(t, token, one, two)
	log, lines := two.live.Begin(slog.New(slog.DiscardHandler), "report/0/1", 1)
	log = slog.New(everything{log.Handler()})
	log.Info("line 0")
	var text strings.Builder
	parts := 0
	c := one.client(t, token, "")
	c.transport = c.transport.(conforming).Transport // conforming waits for the end of a stream
	err := c.FollowRunLog(t.Context(), operator.RunName{Job: "report", Run: "1"}, operator.LogPart{}, func(p operator.LogPart) error {
		text.WriteString(p.Text)
		if parts++; parts < 5 {
			log.Info("line " + strconv.Itoa(parts)) //nolint:sloglint // as guests do
		} else {
			two.live.End(lines)
		}
		return nil
	})
	if err != nil || strings.Count(text.String(), "line ") != 5 {
		t.Errorf("followed %q, %v", text.String(), err)
	}
	if two.asked.Load() == 0 || one.asked.Load() > 2 {
		t.Errorf("the histories were read %d and %d times", one.asked.Load(), two.asked.Load())
	}
}

// A server that another one asks does not ask further servers, so each is asked once.
func TestServersDoNotAskInCircles(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	all := []*peerServer{startPeer(t, s.registry, "10.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{}), startPeer(t, s.registry, "10.0.0.3", TLS{})}
	token := all[0].token(t, "ann", operator.RoleViewer, 0)
	acquaint(t, token, all...)
	if _, err := all[0].client(t, token, "").Runs(t.Context(), RunsWanted{Job: "report"}); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if n := one.asked.Load(); n != 1 {
			t.Errorf("%s was asked %d times", one.at, n)
		}
	}
}

// Servers that cannot be reached, or only without TLS, are named and not asked. False entries
// in the registry have no effect.
func TestServersThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	authorities, files := newAuthority(t), filesIn(t.TempDir())
	authorities.write(t, "server", files)
	report, err := s.client.Job(t.Context(), "report")
	if err != nil {
		t.Fatal(err)
	}
	one, two := startPeer(t, s.registry, "10.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", files)
	elsewhere := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, two.at, http.StatusFound)
	})}
	leads, err := ListenTCP(t.Context(), "127.0.0.1:0", TLS{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = elsewhere.Serve(leads) })
	t.Cleanup(func() {
		_ = elsewhere.Close()
		serving.Wait()
	})
	token := one.token(t, "ann", operator.RoleViewer, 0)
	var known []*peerServer
	for _, address := range []string{"http://10.0.0.7:8680", "http://" + leads.Addr().String(), two.at, "ftp://10.0.0.9"} {
		k := operator.NewKeyring(s.registry, "wasmjobd", nil)
		k.Introduce("10.0.0.9", address)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { k.Run(ctx) })
		t.Cleanup(func() {
			cancel()
			running.Wait()
		})
		known = append(known, &peerServer{cluster: &cluster{keyring: k}})
	}
	acquaint(t, token, append(known, one, two)...)
	page, err := one.client(t, token, "").Runs(t.Context(), RunsWanted{Job: "report"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"http://10.0.0.7:8680 (", "others would see", "http://" + leads.Addr().String() + " (the server answers 302", two.at + " (", "does not have the key", "ftp://10.0.0.9",
		report.Members[0].ID.IP() + " (it has no [admin] listen)",
	} {
		if !strings.Contains(strings.Join(page.Unread, "\n"), want) {
			t.Errorf("%q is not in %q", want, page.Unread)
		}
	}
}

// A server that does not know the others answers with its own rows, and says so.
func TestRowsWithoutTheOthers(t *testing.T) {
	t.Parallel()
	h, _ := guarded(Options{Servers: operator.NewKeyring(nil, "wasmjobd", nil)})
	w := sent(t, h, http.MethodGet, historyPath, "10.0.0.1:1", "Authorization: Bearer viewer")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"unread":["the other servers (`) {
		t.Errorf("it is answered %d %s", w.Code, w.Body)
	}
}

// A retry knows all items of a run, although the histories have more rows of it than a page.
func TestRetryOfARunWithManyItems(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	one, two := startPeer(t, s.registry, "127.0.0.1", TLS{}), startPeer(t, s.registry, "10.0.0.2", TLS{})
	for i := range 3 * maxPage {
		at, item := []*peerServer{one, two}[i%2], 3*maxPage-1-i
		row := trace.Row{Job: "report", Item: item, Run: "60000", Attempt: 1, Instant: 60_000, Cause: trace.Schedule, State: trace.Succeeded, End: 60_001}
		if item == 0 {
			row.State = trace.Failed
		}
		at.rows = append(at.rows, row)
	}
	token := one.token(t, "ann", operator.RoleOperator, 0)
	acquaint(t, token, one, two)
	<-s.host.Ready()
	wantRetried(t, s, one.client(t, token, ""), "60000")
}
