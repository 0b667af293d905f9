package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// maxJobs is the number of jobs that get a label of their own; further jobs share other.
	maxJobs = 1_000
	// other is the label of jobs beyond maxJobs, and of any value outside a closed list.
	other = "other"
	// noReason is the reason label of a guest that had nothing to do.
	noReason = "none"

	// Bounds of scrapes; a scrape beyond them gets 503. A response is complete before it is
	// sent, so slow readers do not count against these bounds: the listener has to limit them.
	maxScrapes    = 4 // at the same time
	scrapeTimeout = 10 * time.Second
)

// Options of Metrics.
type Options struct {
	Version, Revision string       // of the program
	Log               *slog.Logger // receives errors of scrapes; nil discards them
}

// Metrics are the metrics of one host. Create them with New, set Count as the host's
// Options.Count, and pass the host to Watch.
type Metrics struct {
	registry *prometheus.Registry
	scrape   http.Handler
	counters map[string]*prometheus.CounterVec   // by name without the prefix
	times    map[string]*prometheus.HistogramVec // by name without the prefix
	reasons  map[reason.Code]bool                // the codes of this release
	host     atomic.Pointer[host.Host]           // nil before Watch
	running  atomic.Int64                        // guests
	inFile   atomic.Pointer[func() int64]
	alerts   atomic.Pointer[func() (active, unsent int64)]

	mu         sync.Mutex        // guards the fields below
	jobs       map[string]string // the label of each job that has one of its own
	reloadedAt time.Time         // when the files were last read and valid
	reloadFail bool              // the files were not valid when they were last read
}

// New returns metrics that watch no host yet. Metrics without labels exist from the start, at
// 0.
func New(o Options) *Metrics {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, times: map[string]*prometheus.HistogramVec{},
		reasons: map[reason.Code]bool{}, jobs: map[string]string{}, reloadedAt: time.Now(),
	}
	for _, c := range reason.Codes() {
		m.reasons[c] = true
	}
	for i := range table {
		m.register(&table[i], o)
	}
	m.registry.MustRegister(gauges{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.scrape = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelError),
	})
	return m
}

// register creates the metric of a row of the table. Gauges that are read at a scrape need none.
func (m *Metrics) register(row *metric, o Options) {
	switch {
	case row.name == buildInfo:
		c := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + row.name, Help: row.help}, row.labels)
		c.WithLabelValues(o.Version, o.Revision, runtime.Version()).Set(1)
		m.registry.MustRegister(c)
	case row.kind == counter:
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + row.name, Help: row.help}, row.labels)
		if len(row.labels) == 0 {
			c.WithLabelValues() // so that it exists, with 0
		}
		m.counters[row.name] = c
		m.registry.MustRegister(c)
	case row.kind == histogram:
		c := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + row.name, Help: row.help, Buckets: row.buckets}, row.labels)
		if len(row.labels) == 0 {
			c.WithLabelValues()
		}
		m.times[row.name] = c
		m.registry.MustRegister(c)
	}
}

// Watch makes the gauges report h.
func (m *Metrics) Watch(h *host.Host) { m.host.Store(h) }

// RowsInFile sets the function that counts the rows waiting in a file of this server.
func (m *Metrics) RowsInFile(count func() int64) { m.inFile.Store(&count) }

// Alerts sets the function that counts the alerts that are not over and, among them, those
// whose last message could not be sent.
func (m *Metrics) Alerts(count func() (active, unsent int64)) { m.alerts.Store(&count) }

// rowsInFile returns the number of rows that wait in a file of this server.
func (m *Metrics) rowsInFile() int64 {
	if count := m.inFile.Load(); count != nil {
		return (*count)()
	}
	return 0
}

// Running returns the number of guests that are running.
func (m *Metrics) Running() int64 { return m.running.Load() }

// Reloaded records that the server read its files again; ok reports whether they are valid.
func (m *Metrics) Reloaded(ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reloadFail = !ok; ok {
		m.reloadedAt = time.Now()
	}
}

// Handler serves all metrics.
func (m *Metrics) Handler() http.Handler { return onlyGet(m.scrape) }

// onlyGet refuses methods that could change something, and forbids caches.
func onlyGet(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are possible here", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

// Count is meant for host.Options.Count. It does not block.
func (m *Metrics) Count(e *host.Event) {
	switch e.Kind {
	case host.EventStart:
		m.running.Add(1)
		if e.Cause == trace.Failover {
			m.add(failovers, 1, m.job(e.Config.Name))
		}
		if e.Cause == trace.Schedule && e.Attempt <= 1 { // others do not begin at their instant
			m.took(lagSeconds, e.At.Sub(e.Scheduled))
		}
	case host.EventEnd:
		m.running.Add(-1)
		m.took(runSeconds, e.Outcome.Took, m.job(e.Config.Name))
	case host.EventRow:
		m.countRow(e.Row)
	case host.EventReshard:
		m.add(reshards, 1, m.job(e.Config.Name))
	case host.EventStrategy:
		m.add(strategyFailures, 1, m.job(e.Config.Name))
	case host.EventModule:
		m.add(refusedModules, 1)
	case host.EventCompiled:
		m.took(compileSeconds, e.Outcome.Took)
	}
}

// countRow counts a row. A gap counts once for each of its instants.
func (m *Metrics) countRow(r *trace.Row) {
	job, n := m.job(r.Job), max(r.Count, 1)
	switch r.State {
	case trace.Missed:
		m.add(missed, n, job, m.reason(r.Reason))
	case trace.Skipped:
		m.add(skipped, n, job, m.reason(r.Reason))
	default:
		m.add(fires, n, job, among(r.Cause, trace.Causes()), among(r.State, trace.States()))
	}
}

// add adds n to the counter with that name.
func (m *Metrics) add(name string, n int64, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(float64(n))
}

// took adds a duration to the histogram with that name.
func (m *Metrics) took(name string, d time.Duration, labels ...string) {
	m.times[name].WithLabelValues(labels...).Observe(max(d, 0).Seconds())
}

// job returns the label for a job: its name for the first maxJobs jobs, then other.
func (m *Metrics) job(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if label, ok := m.jobs[name]; ok {
		return label
	}
	if len(m.jobs) >= maxJobs {
		return other
	}
	label := strings.ToValidUTF8(name, "\uFFFD") // Prometheus accepts valid UTF-8 only
	m.jobs[name] = label
	return label
}

// reason returns the label for a reason. Codes that this release does not know share one.
func (m *Metrics) reason(r reason.Reason) string {
	switch {
	case r.None():
		return noReason
	case m.reasons[r.Code]:
		return string(r.Code)
	}
	return other
}

// among returns v as a label if the closed list has it, else other.
func among[S ~string](v S, all []S) string {
	if slices.Contains(all, v) {
		return string(v)
	}
	return other
}

// gauges collects the host's gauges at each scrape.
type gauges struct{ m *Metrics }

// Describe implements prometheus.Collector.
func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for i := range table {
		if table[i].read != nil {
			to <- table[i].desc()
		}
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	now := g.m.now()
	for i := range table {
		if read := table[i].read; read != nil {
			to <- prometheus.MustNewConstMetric(table[i].desc(), prometheus.GaugeValue, read(&now))
		}
	}
}

// desc describes a gauge without labels to the library.
func (r *metric) desc() *prometheus.Desc { return prometheus.NewDesc(prefix+r.name, r.help, nil, nil) }

// now returns the values for the gauges of one scrape.
func (m *Metrics) now() moment {
	m.mu.Lock()
	now := moment{reloadedAt: m.reloadedAt, reloadFails: m.reloadFail, running: m.running.Load()}
	m.mu.Unlock()
	now.inFile = m.rowsInFile()
	if count := m.alerts.Load(); count != nil {
		now.active, now.unsent = (*count)()
	}
	if h := m.host.Load(); h != nil {
		now.Gauges = h.Gauges()
		now.connected = now.Started && h.Healthy() == nil
	}
	return now
}
