package host

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the history

	"github.com/wasmjob/wasmjob/host/internal/native/nativetest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// arrivals passes rows to the history and signals when a number of them is stored.
type arrivals struct {
	history trace.Sink

	mu    sync.Mutex // guards the fields below
	left  int
	wrong int // rows of runs that did not succeed
	all   chan struct{}
}

func (a *arrivals) Write(ctx context.Context, batch []trace.Row) error {
	if err := a.history.Write(ctx, batch); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range batch {
		if r.State != trace.Succeeded {
			a.wrong++
		}
	}
	if a.left -= len(batch); a.left == 0 {
		close(a.all)
	}
	return nil
}

func (a *arrivals) expect(rows int) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.all = rows, make(chan struct{})
	return a.all
}

// path is a host with a registry and a history on disk.
type path struct {
	h    *Host
	rows *arrivals
	jobs []job.Config
}

func newPath(b *testing.B, jobs ...job.Config) *path {
	b.Helper()
	dir := b.TempDir()
	wasm, err := hex.DecodeString(smallest)
	if err != nil {
		b.Fatal(err)
	}
	module := filepath.Join(dir, "small.wasm")
	if err := os.WriteFile(module, wasm, 0o600); err != nil {
		b.Fatal(err)
	}
	history, err := sqltrace.Open(b.Context(), sqltrace.File(filepath.Join(dir, "history.db")))
	if err != nil {
		b.Fatal(err)
	}
	p := &path{jobs: jobs, rows: &arrivals{history: history}}
	p.h, err = New(Options{
		Jobs: jobs, DataDir: filepath.Join(dir, "data"), Modules: map[string]Module{"small": {Path: module}},
		NativeScripts: true, Supervisor: nativetest.CommandLine(b), Sinks: []trace.Sink{p.rows},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.h.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := history.Close(); err != nil {
			b.Error(err)
		}
		if p.rows.wrong > 0 {
			b.Errorf("%d rows of runs that did not succeed", p.rows.wrong)
		}
	})
	<-p.h.Ready()
	return p
}

// turn triggers every job, waits until all rows are stored, and returns items per second.
func (p *path) turn(b *testing.B) float64 {
	items := 0
	for _, c := range p.jobs {
		items += c.Shards
	}
	all := p.rows.expect(items)
	began := time.Now()
	for _, c := range p.jobs {
		if err := p.h.Trigger(b.Context(), c.Name); err != nil {
			b.Fatal(err)
		}
	}
	<-all
	return float64(items) / time.Since(began).Seconds()
}

// BenchmarkItems measures the whole path from a trigger to the last row in the history: the
// durable registry inside, a mark for each running item, a guest with a deadline, SQLite. It
// alternates with the same path for items that are commands of the operating system.
func BenchmarkItems(b *testing.B) {
	item := job.Config{Module: "small", Shards: 1000, MonitorExecution: true, Timeout: time.Minute, MaxClockSkew: -1}
	with := func(name string, change func(*job.Config)) job.Config {
		c := item
		c.Name = name
		change(&c)
		return c
	}
	pool := job.Pool{Size: 8}
	for _, c := range []struct {
		name string
		job  job.Config
	}{
		{"fresh", with("fresh", func(*job.Config) {})},
		{"pooled", with("pooled", func(c *job.Config) { c.Limits.Pool = pool })},
		{"unmarked", with("unmarked", func(c *job.Config) { c.MonitorExecution, c.Limits.Pool = false, pool })},
	} {
		b.Run(c.name, func(b *testing.B) {
			ours := newPath(b, c.job)
			commands := newPath(b, with("command", func(c *job.Config) { c.Kind, c.Module, c.Command, c.Shards = job.Script, "", "true", 100 }))
			rounds := 10
			if testing.Short() {
				rounds = 1
			}
			ours.turn(b) // the first run includes the assignment
			commands.turn(b)
			var rate, gain []float64
			for b.Loop() {
				for range rounds {
					our := ours.turn(b)
					rate, gain = append(rate, our), append(gain, our/commands.turn(b))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(rate), "items/s>=10000")
			b.ReportMetric(middle(gain), "x_faster_than_commands")
		})
	}
}

func middle(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
