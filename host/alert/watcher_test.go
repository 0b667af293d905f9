package alert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

const key = "the key"

// hook is a webhook that accepts messages with the right signature, after a number of refusals.
type hook struct {
	*httptest.Server
	got chan Message

	mu      sync.Mutex // guards the fields below
	refuses int
	seen    map[string]bool // accepted ids
	refused []string        // refused ids, in order
}

func newHook(t *testing.T, refuses int) *hook {
	t.Helper()
	h := &hook{got: make(chan Message, 100), refuses: refuses, seen: map[string]bool{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seconds, signature, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(SignatureHeader), "t="), ",v1=")
		sum := hmac.New(sha256.New, []byte(key))
		fmt.Fprintf(sum, "%s.%s", seconds, body)
		h.mu.Lock()
		defer h.mu.Unlock()
		var m Message
		if bad := json.Unmarshal(body, &m); err != nil || bad != nil || len(m.Alerts) != 1 || signature != hex.EncodeToString(sum.Sum(nil)) {
			t.Errorf("%s: %v, %v, signed %s", body, err, bad, signature)
			return
		}
		id := m.Alerts[0].ID
		if h.refuses--; h.refuses >= 0 {
			h.refused = append(h.refused, id)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if !h.seen[id] { // a server that ended before it had the answer sends again
			h.got <- m
		}
		h.seen[id] = true
	}))
	t.Cleanup(h.Close)
	return h
}

// next returns the next notice that the hook accepts.
func (h *hook) next(t *testing.T) (from string, n Notice) {
	t.Helper()
	select {
	case m := <-h.got:
		if m.Version != 1 || m.Cluster != "jobs" {
			t.Errorf("%+v", m)
		}
		return m.Server, m.Alerts[0]
	case <-t.Context().Done():
		t.Fatal("nothing was sent")
	}
	return "", Notice{}
}

// cluster is a registry with watchers on it.
type cluster struct {
	registry registry.Registry

	mu     sync.Mutex // guards report
	report operator.JobReport
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	r := embedded.Memory()
	t.Cleanup(func() { _ = r.Close() })
	return &cluster{registry: r}
}

// serve starts a watcher with the notifier "ops" at url; stop ends it.
func (c *cluster) serve(t *testing.T, name, url string, jobs ...job.Config) (w *Watcher, stop func()) {
	t.Helper()
	o := Options{Jobs: jobs, Gather: 10 * time.Millisecond}
	if url != "" {
		o.Notifiers = []Notifier{{Name: "ops", Webhook: Webhook{URL: url, Key: key}}}
	}
	w = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		w.Run(ctx, Cluster{Registry: c.registry, Namespace: "jobs", Server: name, Report: func(context.Context, string) (*operator.JobReport, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			r := c.report
			return &r, nil
		}})
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return w, stop
}

func billing() job.Config { return job.Config{Name: "billing", Notify: []string{"ops"}} }

func ended(w *Watcher, item int, s trace.State) {
	w.Count(&host.Event{Kind: host.EventRow, Row: &trace.Row{Job: "billing", Item: item, State: s, Error: "code 7"}})
}

// One of two servers sends what both have seen. When it is gone, the other continues, and
// knows what was sent.
func TestOneServerDelivers(t *testing.T) {
	t.Parallel()
	c, h := newCluster(t), newHook(t, 0)
	a, stop := c.serve(t, "a", h.URL, billing())
	ended(a, 0, trace.Failed)
	from, n := h.next(t)
	if from != "a" || n.Event != Failed || n.Job != "billing" || n.Text != "code 7" || len(n.Items) != 1 || n.ID == "" {
		t.Errorf("%s: %+v", from, n)
	}
	b, _ := c.serve(t, "b", h.URL, billing())
	stop()
	b.mu.Lock()
	b.alerting["billing"] = true // as after reading the alerts
	b.mu.Unlock()
	ended(b, 0, trace.Succeeded)
	if from, n := h.next(t); from != "b" || n.Event != Recovered || n.Of != Failed {
		t.Errorf("%s: %+v", from, n)
	}
}

// Only the deliverer counts alerts, since a sum would count them more than once otherwise.
func TestGauges(t *testing.T) {
	t.Parallel()
	w := New(Options{})
	w.value = clustertree.Alerts{All: []clustertree.Alert{
		{Job: "a", Kind: Failed, Left: []string{"ops"}, Tries: 2},
		{Job: "b", Kind: Failed, Left: []string{"ops"}}, // it waits for similar facts
		{Job: "c", Kind: Failed, Over: 1, Left: []string{"ops"}, Tries: 1},
	}}
	want := func(active, unsent int64) {
		t.Helper()
		w.report()
		if a, u := w.Gauges(); a != active || u != unsent {
			t.Errorf("%d active, %d unsent; want %d and %d", a, u, active, unsent)
		}
	}
	want(0, 0)
	w.leads = true
	want(2, 2)
	w.leads = false
	want(0, 0)
}

// A message that a webhook refuses is sent again under the same id, even by a server that has
// not seen its facts.
func TestRefusedMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	c, h := newCluster(t), newHook(t, 2)
	c.serve(t, "sends", h.URL)
	seen, _ := c.serve(t, "sees", "", billing())
	ended(seen, 4, trace.Failed)
	if from, n := h.next(t); from != "sends" || n.Items[0] != 4 {
		t.Errorf("%s: %+v", from, n)
	} else if diff := cmp.Diff([]string{n.ID, n.ID}, h.refused); diff != "" {
		t.Error(diff)
	}
}

// Facts that wait when a server stops are written, and sent by another one.
func TestLastFactsAreWritten(t *testing.T) {
	t.Parallel()
	c, h := newCluster(t), newHook(t, 0)
	last, stop := c.serve(t, "last", "", billing())
	ended(last, 1, trace.Failed)
	stop()
	c.serve(t, "next", h.URL)
	if _, n := h.next(t); n.Items[0] != 1 {
		t.Errorf("%+v", n)
	}
}

// A run that takes longer than its job expects raises an alert while it runs.
func TestRunThatTakesTooLong(t *testing.T) {
	t.Parallel()
	c, h := newCluster(t), newHook(t, 0)
	of := billing()
	of.Expect.MaxDuration = time.Millisecond
	w, _ := c.serve(t, "a", h.URL)
	e := host.Event{Kind: host.EventStart, At: time.Now(), Config: of, Item: 2, Run: "1", Attempt: 1}
	w.Count(&e)
	if _, n := h.next(t); n.Event != TooLong || n.Items[0] != 2 {
		t.Errorf("%+v", n)
	}
	e.Kind = host.EventEnd
	w.Count(&e)
	ended(w, 2, trace.Succeeded)
	if _, n := h.next(t); n.Event != Recovered || n.Of != TooLong {
		t.Errorf("%+v", n)
	}
}

// A job that has not run for too long is late until it has run.
func TestJobThatIsLate(t *testing.T) {
	t.Parallel()
	c, h := newCluster(t), newHook(t, 0)
	of := billing()
	of.Cron, of.Expect.Within = "0 0 0 * * ?", time.Minute
	c.report.Items = []operator.ItemReport{{Item: 0, Accounted: time.Now()}, {Item: 1, Accounted: time.Now().Add(-50 * time.Hour)}}
	_, stop := c.serve(t, "a", h.URL, of)
	if _, n := h.next(t); n.Event != Late || len(n.Items) != 1 || n.Items[0] != 1 {
		t.Errorf("%+v", n)
	}
	stop()
	c.mu.Lock()
	c.report.Items[1].Accounted = time.Now()
	c.mu.Unlock()
	c.serve(t, "b", h.URL, of) // it checks at once
	if _, n := h.next(t); n.Event != Recovered || n.Of != Late {
		t.Errorf("%+v", n)
	}
}

// Which items are late depends on ended runs and on requests of operators.
func TestLateItems(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	before, after := at.Add(-time.Hour), at.Add(time.Second)
	item := operator.ItemReport{Accounted: at}
	with := func(do func(*operator.ItemReport)) operator.JobReport {
		x := item
		do(&x)
		return operator.JobReport{Items: []operator.ItemReport{x}}
	}
	for name, tt := range map[string]struct {
		r    operator.JobReport
		late bool
	}{
		"ended":          {with(func(*operator.ItemReport) {}), false},
		"not begun":      {with(func(x *operator.ItemReport) { x.Accounted = before }), true},
		"assigned since": {with(func(x *operator.ItemReport) { x.Accounted = after }), false},
		"not assigned":   {with(func(x *operator.ItemReport) { x.Accounted = time.Time{} }), true},
		"running":        {with(func(x *operator.ItemReport) { x.Run.Instant = at }), true},
		"the next one":   {with(func(x *operator.ItemReport) { x.Run.Instant = after }), false},
		"a trigger":      {with(func(x *operator.ItemReport) { x.Run = operator.RunReport{Instant: before, Cause: "trigger"} }), false},
		"an older one, run late": {with(func(x *operator.ItemReport) {
			x.Run = operator.RunReport{Instant: before, Cause: "backfill", Request: "1772326800000"}
		}), false},
		"this one, run again": {with(func(x *operator.ItemReport) {
			x.Run = operator.RunReport{Instant: at, Cause: "schedule", Request: "1772330400000"}
		}), true},
		"to be retried":                {with(func(x *operator.ItemReport) { x.Retry = after }), true},
		"disabled item":                {with(func(x *operator.ItemReport) { x.Accounted, x.Disabled = before, true }), false},
		"no item":                      {operator.JobReport{}, true},
		"paused":                       {operator.JobReport{Paused: true}, false},
		"disabled":                     {operator.JobReport{State: "disabled"}, false},
		"came in a pause that is over": {operator.JobReport{EndedPause: operator.PauseReport{Since: before, Until: after}}, false},
		"came as a pause ended":        {operator.JobReport{EndedPause: operator.PauseReport{Since: before, Until: at}}, true},
	} {
		if _, is, _ := late(&tt.r, at, before); is != tt.late {
			t.Errorf("%s: %v", name, is)
		}
	}
}

// An instant from before a job was first seen is not expected of items that are not assigned yet.
func TestNewJobIsNotLate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for name, r := range map[string]operator.JobReport{"no item": {}, "not assigned": {Items: []operator.ItemReport{{}}}} {
		if behind, is, _ := late(&r, at, at.Add(time.Hour)); is {
			t.Errorf("%s: %v", name, behind)
		}
	}
	w := New(Options{})
	w.now = func() time.Time { return at }
	all := map[string]watched{"j": {}}
	w.see(all)
	w.now = func() time.Time { return at.Add(time.Hour) }
	w.see(all)
	if got := w.seen["j"]; !got.Equal(at) {
		t.Errorf("first seen at %v", got)
	}
	if w.see(nil); len(w.seen) != 0 {
		t.Errorf("a job that is gone: %v", w.seen)
	}
}

// A server warns once of a job whose notifier its own file does not have, since it may have to send
// the alerts.
func TestNotifierThatIsMissing(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	w := New(Options{Notifiers: []Notifier{{Name: "ops"}}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, names := range [][]string{{"ops"}, {"ops", "night"}, {"ops", "night"}, {"ops"}, {"night"}} {
		of := billing()
		of.Notify = names
		w.Count(&host.Event{Kind: host.EventStart, At: time.Now(), Config: of, Run: "1", Attempt: 1})
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 2 || !strings.Contains(log.String(), "job=billing notifier=night") {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// A job whose errors are ignored, or that names no notifier, raises no alert.
func TestJobsWithoutAlerts(t *testing.T) {
	t.Parallel()
	ignoring := billing()
	ignoring.ErrorHandler = job.IgnoreErrors
	for name, of := range map[string]job.Config{"ignores": ignoring, "names none": {Name: "billing"}} {
		w := New(Options{Jobs: []job.Config{of}})
		ended(w, 0, trace.Failed)
		if len(w.take()) != 0 {
			t.Error(name)
		}
	}
	w := New(Options{Jobs: []job.Config{billing()}})
	w.Count(&host.Event{Kind: host.EventStart, At: time.Now(), Config: job.Config{Name: "billing"}, Run: "1", Attempt: 1})
	if ended(w, 0, trace.Failed); len(w.take()) != 0 {
		t.Error("the registry has no notifier any more")
	}
	w = New(Options{Jobs: []job.Config{ignoring}})
	if ended(w, 0, trace.Missed); len(w.take()) != 1 {
		t.Error("an instant that is missed is no error of a run")
	}
}

// While the registry cannot be reached, the number of waiting facts is bounded, and similar facts
// of a job are merged.
func TestFactsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	var jobs []job.Config
	for i := range maxFacts + 10 {
		jobs = append(jobs, job.Config{Name: fmt.Sprint(i), Notify: []string{"ops"}})
	}
	w := New(Options{Jobs: jobs})
	for range 3 {
		for _, c := range jobs {
			w.row(&trace.Row{Job: c.Name, State: trace.Failed})
		}
	}
	all := w.take()
	if len(all) != maxFacts || all[0].count != 3 {
		t.Error(len(all), all[0])
	}
	w.putBack(all)
	if all = w.take(); len(all) != maxFacts || all[0].count != 3 {
		t.Error(len(all))
	}
}

// No error shows the address of a webhook, which may be a secret.
func TestErrorsHaveNoAddress(t *testing.T) {
	t.Parallel()
	h := newHook(t, 0)
	h.Close()
	for _, url := range []string{h.URL + "/secret", "http://secret\x7f/"} {
		n := Notifier{Webhook: Webhook{URL: url}}
		if err := n.send(t.Context(), &Message{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
