package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

func rowOf(name string, s trace.State, r reason.Reason) *host.Event {
	return &host.Event{Kind: host.EventRow, Row: &trace.Row{Job: name, Cause: trace.Schedule, State: s, Reason: r}}
}

// A job with an odd name is still one series with that name for Prometheus.
func TestOddNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`quo"te`: `quo"te`, `back\slash`: `back\slash`, "new\nline": "new\nline", "Überstunden 残業": "Überstunden 残業",
		"broken \xff\xfe": "broken \uFFFD", strings.Repeat("ü", 127) + "x": strings.Repeat("ü", 127) + "x", "{a=\"b\"} 1\n# TYPE x counter": "{a=\"b\"} 1\n# TYPE x counter",
		"": "",
	} {
		m := New(Options{Version: "\"1\n", Revision: `\`})
		m.Count(rowOf(name, trace.Succeeded, reason.Reason{}))
		m.Count(&host.Event{Kind: host.EventEnd, Config: job.Config{Name: name}})
		families := scrape(t, m)
		for _, metric := range []string{fires, runSeconds} {
			if got := sum(families[prefix+metric], jobLabel, want); got != 1 {
				t.Errorf("%s of %q: %v in %v", metric, name, got, families[prefix+metric])
			}
		}
	}
}

// Values from outside cannot create more than a fixed number of series.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	for i := range maxJobs + 50 {
		m.Count(rowOf(fmt.Sprint("job ", i), trace.Succeeded, reason.Reason{}))
	}
	m.Count(rowOf("job 7", trace.Failed, reason.Reason{}))
	for i := range 100 {
		m.Count(rowOf("job 1", trace.Missed, reason.Reason{Code: reason.Code(fmt.Sprint("made up ", i))}))
		m.Count(rowOf("job 1", trace.State(fmt.Sprint("made up ", i)), reason.Reason{}))
	}
	m.Count(rowOf("job 1", trace.Missed, reason.Text("words of an older release")))
	families := scrape(t, m)
	if got := len(families[prefix+fires].GetMetric()); got != maxJobs+3 {
		t.Errorf("%d series of runs", got)
	}
	if got := sum(families[prefix+fires], jobLabel, other); got != 50 {
		t.Errorf("%v runs of further jobs", got)
	}
	if got := families[prefix+missed].GetMetric(); len(got) != 1 || sum(families[prefix+missed], reasonLabel, other) != 101 {
		t.Errorf("missed: %v", got)
	}
}

// A row for a gap adds the number of its instants.
func TestGapsCountTheirInstants(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	e := rowOf("a", trace.Missed, reason.Of(reason.JobPaused))
	e.Row.Count = 41
	m.Count(e)
	if got := sum(scrape(t, m)[prefix+missed], jobLabel, "a", reasonLabel, string(reason.JobPaused)); got != 41 {
		t.Errorf("%v instants missed", got)
	}
}

// deaf accepts the head of a response, but blocks on the body until its gate opens.
type deaf struct {
	*httptest.ResponseRecorder
	gate chan struct{}
}

func (d deaf) Write(b []byte) (int, error) {
	<-d.gate
	return d.ResponseRecorder.Write(b)
}

// Clients that do not read their response delay neither runs nor other scrapes.
func TestScrapesHoldUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var late []time.Duration
		s := start(t, host.Options{
			Jobs: []job.Config{{Name: "a", Cron: "* * * * * ?", Shards: 1}},
			Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
				late = append(late, time.Since(c.Scheduled))
				return job.Outcome{Verdict: job.OK}
			}),
		})
		<-s.Ready()
		gate, ended := make(chan struct{}), make(chan struct{})
		for range 2 * maxScrapes {
			go func() {
				s.metrics.Handler().ServeHTTP(deaf{httptest.NewRecorder(), gate}, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
				ended <- struct{}{}
			}()
		}
		synctest.Wait()
		scrape(t, s.metrics)
		time.Sleep(time.Minute + time.Millisecond)
		synctest.Wait()
		if len(late) < 59 {
			t.Errorf("%d runs", len(late))
		}
		for _, d := range late {
			if d > 0 {
				t.Errorf("a run began %v late", d)
			}
		}
		close(gate)
		for range 2 * maxScrapes {
			<-ended
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// ailing is a registry whose disk can be made to fail.
type ailing struct {
	registry.Registry
	why *cause
}

func (a ailing) Healthy() error { return a.why.get() }

// cause is an error that a test sets while other goroutines read it.
type cause struct{ err atomic.Pointer[error] }

func (c *cause) set(err error) { c.err.Store(&err) }

func (c *cause) get() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}

// away is a history that fails as long as why has an error.
type away struct{ why *cause }

func (a away) Write(context.Context, []trace.Row) error { return a.why.get() }

// ask sends a request to a handler.
func ask(h http.Handler, method, target string) (status int, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, http.NoBody))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// A server is ready when no check fails, and names the ones that do. It is alive throughout.
func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		if got := m.Checks(); len(got) != 1 || got[0] != (Check{"started", "the server is starting"}) || m.Alive(t.Context()) != nil {
			t.Errorf("without a host: %v", got)
		}
		var disk, history cause
		gate := make(chan struct{})
		s := start(t, host.Options{
			Registry: ailing{embedded.Memory(), &disk}, Sinks: []trace.Sink{away{&history}}, DrainTimeout: time.Hour,
			Jobs: []job.Config{{Name: "a", Cron: "* * * * * ?", Shards: 1}},
			Runner: host.Func(func(context.Context, job.Call) job.Outcome {
				<-gate
				return job.Outcome{Verdict: job.OK}
			}),
		})
		<-s.Ready()
		want := func(failing ...string) {
			t.Helper()
			synctest.Wait()
			if err := s.metrics.Alive(t.Context()); err != nil {
				t.Error(err)
			}
			if got := faulty(s.metrics.Checks()); !slices.Equal(got, failing) {
				t.Errorf("%q fail, want %q", got, failing)
			}
		}
		want()
		if got := s.metrics.Checks(); len(got) != 5 {
			t.Errorf("checks: %v", got)
		}
		s.metrics.RowsInFile(func() int64 { return 7 })
		want("history")
		if got := sum(scrape(t, s.metrics)[prefix+"history_rows_in_file"]); got != 7 {
			t.Errorf("%v rows wait", got)
		}
		s.metrics.RowsInFile(func() int64 { return 0 })
		s.metrics.Alerts(func() (int64, int64) { return 3, 2 })
		if got := scrape(t, s.metrics); sum(got[prefix+"alerts_active"]) != 3 || sum(got[prefix+"alerts_untold"]) != 2 {
			t.Errorf("alerts: %v, %v", got[prefix+"alerts_active"], got[prefix+"alerts_untold"])
		}
		want()
		disk.set(registry.ErrReadOnly)
		want("registry")
		if got := sum(scrape(t, s.metrics)[prefix+"registry_connected"]); got != 0 {
			t.Errorf("connected is %v", got)
		}
		disk.set(nil)
		history.set(errors.New("away"))
		close(gate)
		time.Sleep(3 * time.Second)
		want("history")
		history.set(nil)
		time.Sleep(time.Minute)
		want()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// faulty returns the names of the checks that fail.
func faulty(all []Check) []string {
	var names []string
	for _, c := range all {
		if c.Fault != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestDrainingIsNotReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := start(t, host.Options{DrainTimeout: time.Hour, Jobs: []job.Config{{Name: "a", Cron: "* * * * * ?", Shards: 1}}, Runner: host.Func(func(context.Context, job.Call) job.Outcome {
			<-gate
			return job.Outcome{Verdict: job.OK}
		})})
		<-s.Ready()
		time.Sleep(2 * time.Second)
		ended := make(chan error)
		go func() { ended <- s.stop() }()
		synctest.Wait()
		if got := faulty(s.metrics.Checks()); !slices.Equal(got, []string{"draining"}) {
			t.Errorf("%q fail", got)
		}
		if got := sum(scrape(t, s.metrics)[prefix+"running"]); got != 1 {
			t.Errorf("%v guests run", got)
		}
		close(gate)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Invalid requests get an answer that says what is wrong.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	if status, body := ask(m.Handler(), http.MethodPost, "/metrics"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d %s", status, body)
	}
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("headers %v", w.Header())
	}
}

func TestReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		begun := time.Now()
		time.Sleep(time.Minute)
		for _, want := range []struct {
			ok float64
			at time.Time
		}{{0, begun}, {1, begun.Add(time.Minute)}} {
			m.Reloaded(want.ok == 1)
			families := scrape(t, m)
			if ok, at := sum(families[prefix+"config_last_reload_successful"]), sum(families[prefix+"config_last_reload_success_timestamp_seconds"]); ok != want.ok || at != float64(want.at.Unix()) {
				t.Errorf("%v at %v, want %+v", ok, at, want)
			}
		}
	})
}
