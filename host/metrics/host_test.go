package metrics

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// scrape returns the response of Handler as Prometheus parses it.
func scrape(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return families
}

// sum adds up the values of the series with these labels, or the counts of a histogram.
func sum(family *dto.MetricFamily, labels ...string) (total float64) {
	for _, s := range family.GetMetric() {
		matches := 0
		for i := 0; i+1 < len(labels); i += 2 {
			if slices.ContainsFunc(s.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == labels[i] && l.GetValue() == labels[i+1] }) {
				matches++
			}
		}
		if 2*matches == len(labels) {
			total += s.GetCounter().GetValue() + s.GetGauge().GetValue() + float64(s.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// server is a host with its metrics.
type server struct {
	*host.Host
	metrics *Metrics
	stop    func() error

	mu   sync.Mutex // guards news
	news chan struct{}
}

// start starts a host whose events the metrics count.
func start(t *testing.T, o host.Options) *server {
	t.Helper()
	s := &server{metrics: New(Options{Version: "1.2.3"}), news: make(chan struct{})}
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	o.Count = func(e *host.Event) {
		s.metrics.Count(e)
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.news)
		s.news = make(chan struct{})
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	s.metrics.Watch(h)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	s.stop = func() error {
		cancel()
		return <-done
	}
	return s
}

// await waits until the sum of a metric exceeds 0.
func (s *server) await(t *testing.T, name string, labels ...string) {
	t.Helper()
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		if sum(scrape(t, s.metrics)[prefix+name], labels...) > 0 {
			return
		}
		select {
		case <-news:
		case <-t.Context().Done():
			t.Fatalf("%s %q is still 0", name, labels)
		}
	}
}

// mortal is a registry whose sessions can be ended as if their server had died.
type mortal struct {
	registry.Registry
	opened chan registry.Session
}

func (m mortal) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := m.Registry.Open(ctx, on)
	if err == nil {
		m.opened <- s
	}
	return s, err
}

func module(name string) host.Module {
	return host.Module{Path: filepath.Join("..", "..", "abi", "conformance", "wat", name+".wasm")}
}

// Running servers produce each metric of the table, with the type, help and labels that it
// lists.
func TestEachMetricIsProduced(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	shared := job.Config{Name: "shared", Cron: "0 0 0 1 1 ?", Shards: 2, Module: "ok", Failover: true, MonitorExecution: true}
	dying := mortal{reg, make(chan registry.Session, 10)}
	begun := make(chan struct{}, 10)
	other := start(t, host.Options{
		Registry: dying, Instance: "127.0.0.2@-@2", Jobs: []job.Config{shared},
		Runner: host.Func(func(ctx context.Context, _ job.Call) job.Outcome {
			begun <- struct{}{}
			<-ctx.Done()
			return job.Outcome{Verdict: job.Stopped}
		}),
	})
	<-other.Ready()
	s := start(t, host.Options{
		Registry: reg, Instance: "127.0.0.1@-@1", DataDir: t.TempDir(),
		Modules: map[string]host.Module{"ok": module("ok"), "code": module("code"), "deal": module("deal"), "loop": module("loop")},
		Jobs: []job.Config{
			shared, {Name: "code", Cron: "* * * * * ?", Shards: 4, Module: "code"},
			{Name: "slow", Cron: "* * * * * ?", Shards: 1, Module: "loop", Timeout: 1200 * time.Millisecond, MonitorExecution: true},
			{Name: "dealt", Shards: 2, Module: "ok", StrategyModule: "deal", Param: "m"},
		},
	})
	<-s.Ready()
	s.await(t, fires, "job", "code", "cause", "schedule", "result", "succeeded")
	s.await(t, fires, "job", "code", "cause", "schedule", "result", "failed")
	s.await(t, skipped, "job", "code", "reason", noReason)
	s.await(t, lagSeconds)
	s.await(t, compileSeconds)
	s.await(t, strategyFailures, "job", "dealt")
	s.await(t, "items_owned")
	s.await(t, missed, "job", "slow", "reason", "still_running")
	if err := s.Trigger(t.Context(), "shared"); err != nil {
		t.Error(err)
	}
	<-begun
	if err := (<-dying.opened).Close(); err != nil {
		t.Error(err)
	}
	s.await(t, failovers, "job", "shared")
	s.await(t, reshards)

	families := scrape(t, s.metrics)
	for _, row := range table {
		f := families[prefix+row.name]
		if f == nil {
			t.Errorf("%s is not there", row.name)
			continue
		}
		if got := map[dto.MetricType]string{dto.MetricType_COUNTER: counter, dto.MetricType_GAUGE: gauge, dto.MetricType_HISTOGRAM: histogram}[f.GetType()]; got != row.kind || f.GetHelp() != row.help {
			t.Errorf("%s is a %s, %q", row.name, got, f.GetHelp())
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		want := slices.Sorted(slices.Values(row.labels))
		if !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %q, want %q", row.name, labels, want)
		}
		delete(families, prefix+row.name)
	}
	for name := range families {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			t.Errorf("%s is in no table", name)
		}
	}
	for name, want := range map[string]float64{"jobs": 4, "registry_connected": 1, "config_last_reload_successful": 1} {
		if got := sum(scrape(t, s.metrics)[prefix+name]); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if err := errors.Join(s.stop(), other.stop()); err != nil {
		t.Error(err)
	}
}
