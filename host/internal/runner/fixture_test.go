package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// metronome is a Clock whose "cron" is a duration, counted from the epoch.
type metronome struct {
	mu   sync.Mutex
	stop func()
}

func (c *metronome) Set(cron string, from time.Time, tick func(at, prev int64)) error {
	every, err := time.ParseDuration(cron)
	if err != nil {
		return err
	}
	c.Remove()
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for prev := int64(0); ; {
			at := from.Truncate(every).Add(every)
			from = at
			if !session.Sleep(ctx, time.Until(at)) {
				return
			}
			tick(at.UnixMilli(), prev)
			prev = at.UnixMilli()
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = func() { cancel(); work.Wait() }
	return nil
}

func (c *metronome) Remove() {
	c.mu.Lock()
	stop := c.stop
	c.stop = nil
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (c *metronome) Use(job.Config) {}

func (c *metronome) Between(cron string, after, until int64) (first, last, count int64, err error) {
	every, err := time.ParseDuration(cron)
	if err != nil {
		return 0, 0, 0, err
	}
	ms := every.Milliseconds()
	first = (after/ms + 1) * ms
	last = (until - 1) / ms * ms
	if last < first {
		return 0, 0, 0, nil
	}
	return first, last, (last-first)/ms + 1, nil
}

func (c *metronome) After(cron string, at int64) int64 {
	first, _, _, err := c.Between(cron, at, at+1<<40)
	if err != nil {
		return 0
	}
	return first
}

func (c *metronome) Newest(cron string, after, until int64, most int) ([]int64, error) {
	first, last, n, err := c.Between(cron, after, until)
	if n == 0 || err != nil {
		return nil, err
	}
	every := int64(0)
	if n > 1 {
		every = (last - first) / (n - 1)
	}
	var all []int64
	for k := max(n-int64(most), 0); k < n; k++ {
		all = append(all, first+k*every)
	}
	return all, nil
}

type guestFunc func(ctx context.Context, c job.Call) job.Outcome

func (f guestFunc) Run(ctx context.Context, c job.Call) job.Outcome { return f(ctx, c) }

// takes is a guest that runs for a while and ends with its context.
func takes(d time.Duration) guestFunc {
	return func(ctx context.Context, c job.Call) job.Outcome {
		if !session.Sleep(ctx, d) {
			return job.Outcome{Verdict: job.Stopped}
		}
		return job.Outcome{Verdict: job.OK, Result: fmt.Appendf(nil, "item %d of %d", c.Item, c.Total),
			Fuel: 7, Flow: job.Flow{Batches: 1, Succeeded: 2, Failed: 3}, Metrics: map[string]float64{"rows": 2.5}}
	}
}

type assignAverage struct{}

func (assignAverage) Assign(ctx context.Context, _ job.Config, r protocol.AssignRequest) ([][]int, error) {
	ids := make([]string, len(r.Instances))
	for i, id := range r.Instances {
		ids[i] = string(id)
	}
	return strategy.Average(ctx, strategy.Request{Instances: ids, Total: r.Total})
}

// book is a Sink in memory. It keeps the first row with each identity.
type book struct {
	watched // the guests that its rows are about

	mu   sync.Mutex
	rows []trace.Row
	fail error
	bad  func(trace.Row) bool // rows that it always refuses
}

func (b *book) Write(_ context.Context, batch []trace.Row) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	if b.bad != nil && slices.ContainsFunc(batch, b.bad) {
		return fmt.Errorf("%w: as the test wants it", trace.ErrRow)
	}
	for _, r := range batch {
		k := slices.IndexFunc(b.rows, func(o trace.Row) bool {
			return o.Job == r.Job && o.Item == r.Item && o.Run == r.Run && o.Attempt == r.Attempt
		})
		switch {
		case k < 0:
			b.rows = append(b.rows, r)
		case b.rows[k].State == trace.TakenOver && r.State.Final():
			b.rows[k].State, b.rows[k].Reason = r.State, r.Reason
		}
	}
	return nil
}

func (b *book) broken(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *book) sorted() []trace.Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := slices.Clone(b.rows)
	slices.SortFunc(rows, func(x, y trace.Row) int {
		return cmp.Or(cmp.Compare(x.Instant, y.Instant), cmp.Compare(x.Item, y.Item), cmp.Compare(x.Run, y.Run), cmp.Compare(x.Attempt, y.Attempt))
	})
	return rows
}

// states counts rows by state.
func (b *book) states() map[trace.State]int {
	n := map[trace.State]int{}
	for _, r := range b.sorted() {
		n[r.State]++
	}
	return n
}

// check compares the rows with the schedule.
func (b *book) check(t *testing.T, name string, items int, every time.Duration) {
	t.Helper()
	for _, f := range b.findings(t, name, items, every) {
		t.Error(f)
	}
	if t.Failed() {
		for _, r := range b.sorted() {
			t.Logf("%+v", r)
		}
	}
}

func (b *book) findings(t *testing.T, name string, items int, every time.Duration) []trace.Finding {
	t.Helper()
	rows := slices.DeleteFunc(b.sorted(), func(r trace.Row) bool { return r.Job != name })
	all := make([]int, items)
	for i := range all {
		all[i] = i
	}
	report, err := trace.Check(trace.CheckInput{
		Job: name, Items: all, From: 0, To: time.Now().UnixMilli(),
		Instants: func(after, upTo int64, yield func(int64) bool) {
			ms := every.Milliseconds()
			for at := (after/ms + 1) * ms; at <= upTo && yield(at); at += ms {
			}
		},
		Rows: iter.Seq2[trace.Row, error](func(yield func(trace.Row, error) bool) {
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return report.Findings
}

// door lets a test end and observe the sessions of one server.
type door struct {
	registry.Registry
	mu       sync.Mutex
	sessions []registry.Session
	wrap     func(registry.Session) registry.Session
}

func (d *door) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := d.Registry.Open(ctx, on)
	if err != nil {
		return nil, err
	}
	if d.wrap != nil {
		s = d.wrap(s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = append(d.sessions, s)
	return s, nil
}

func (d *door) kill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[len(d.sessions)-1].Close()
}

const testJob = "nightly"

func testConfig() job.Config {
	return job.Config{
		Name: testJob, Kind: job.Simple, Cron: "10s", Shards: 4, ItemParams: "0=a,2=c", Param: "p",
		Failover: true, Misfire: false, MonitorExecution: true, MaxClockSkew: -1, Layout: job.Layout21,
	}
}

// server is one Runner with its ports.
type server struct {
	*Runner
	*door
	session *session.Server
	cancel  context.CancelFunc
	now     func() // cancels; guests are asked to stop at once
	done    chan struct{}
	err     error
	events  chan Event
}

// serve starts a runner on the registry. Runners share the book.
func serve(t *testing.T, reg registry.Registry, rows *book, ip string, change func(*Options)) *server {
	t.Helper()
	return serveThrough(t, &door{Registry: reg}, rows, ip, change)
}

func serveThrough(t *testing.T, d *door, rows *book, ip string, change func(*Options)) *server {
	t.Helper()
	s := &server{door: d, done: make(chan struct{}), events: make(chan Event, 10_000)}
	config := testConfig()
	o := Options{
		Layout: layout.NewJob("test", testJob), Config: &config,
		Instance: job.NewInstanceID(ip, "1"), Clock: &metronome{}, Guests: takes(time.Second), Assigner: assignAverage{},
		Sink: rows, DrainTimeout: 30 * time.Second, Observe: func(e *Event) {
			if e.Kind != NewRow && e.Kind != Resharded {
				s.events <- *e
			}
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&o)
	}
	if o.Define == nil {
		o.Define = layout.NewJob("test", "").Define
	}
	if rows != nil {
		o.Guests = rows.guests(o.Guests)
		t.Cleanup(func() {
			for _, fault := range rows.found() {
				t.Error(fault)
			}
		})
	}
	s.session = session.New(session.Options{Registry: d, Namespace: o.Layout.Namespace(), Log: o.Log})
	o.Sessions = s.session
	s.Runner = New(o)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.cancel, s.now = func() { cancel(nil) }, func() { cancel(job.ErrStopNow) }
	below, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(s.done)
		if err := s.session.Run(below); err != nil {
			t.Errorf("the session: %v", err)
		}
	}()
	s.Start(ctx, func(err error) {
		s.err = err
		end()
	})
	return s
}

// allTroubles returns the troubles of the job and of its server's session.
func (s *server) allTroubles() []string {
	var all []string
	for _, r := range slices.Concat(s.session.Troubles(), s.Status().Troubles) {
		all = append(all, r.String())
	}
	return all
}

// stop ends the runner and waits for it.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	<-s.done
	if s.err != nil {
		t.Errorf("run: %v", s.err)
	}
}

var errDisk = errors.New("disk full")

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
