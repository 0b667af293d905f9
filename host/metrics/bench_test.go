package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// play reports the start, end and row of one run to m, as a host does.
func play(m *Metrics, name string) {
	m.Count(&host.Event{Kind: host.EventStart, Config: job.Config{Name: name}, Cause: trace.Schedule, At: time.Now(), Scheduled: time.Now()})
	m.Count(&host.Event{Kind: host.EventEnd, Config: job.Config{Name: name}, Outcome: job.Outcome{Took: time.Millisecond}})
	m.Count(rowOf(name, trace.Succeeded, reason.Reason{}))
}

// BenchmarkCount measures what the events of one run cost.
func BenchmarkCount(b *testing.B) {
	m := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		play(m, "report")
	}
}

// BenchmarkScrape measures a scrape of a server that has run a number of jobs, and the memory
// that their metrics take.
func BenchmarkScrape(b *testing.B) {
	for _, jobs := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			o := host.Options{Runner: host.Func(nil)}
			for i := range jobs {
				o.Jobs = append(o.Jobs, job.Config{Name: fmt.Sprint("job-", i), Shards: 1})
			}
			h, err := host.New(o)
			if err != nil {
				b.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // also frees what the first one queued for finalization
			runtime.ReadMemStats(&before)
			m := New(Options{})
			m.Watch(h)
			for i := range o.Jobs {
				play(m, o.Jobs[i].Name)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
				r.Header.Set("Accept-Encoding", "gzip")
				m.Handler().ServeHTTP(w, r)
				size = w.Body.Len()
			}
			runtime.KeepAlive(o)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/(1<<20), "MiB")
			b.ReportMetric(float64(size)/(1<<10), "KiB/answer")
		})
	}
}
