package sandbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// A run is a fresh instance, one call, and its end.
func BenchmarkRun(b *testing.B) {
	e, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	bench := func(name string, wasm []byte, c job.Call) {
		m, err := e.Load(b.Context(), wasm)
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := e.Run(b.Context(), m, c); out.Verdict != job.OK {
					b.Fatal(out.Error)
				}
			}
		})
	}
	bench("small", (&builder{}).job(i32(0)), job.Call{})
	pooled := job.Call{Config: job.Config{Limits: job.Limits{Pool: job.Pool{Size: 1}}}}
	bench("pooled", (&builder{}).job(i32(0)), pooled)
	pooled.Config.Timeout = time.Minute
	bench("pooled with deadline", (&builder{}).job(i32(0)), pooled)
	goGuest, err := probeModule()
	if errors.Is(err, errNoGo) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	bench("go", goGuest, job.Call{Config: job.Config{Settings: map[string]string{"do": "config"}}})
}

// How long after its end an endless guest is gone, while two others keep both
// processors busy.
func BenchmarkStop(b *testing.B) {
	e, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	all := endless()
	ctx, cancel := context.WithCancel(b.Context())
	var neighbours sync.WaitGroup
	defer neighbours.Wait()
	defer cancel()
	for range 2 {
		m, err := e.Load(ctx, all["loop"])
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		neighbours.Go(func() { e.Run(ctx, m, job.Call{}) })
	}
	const timeout, grace = 49 * time.Millisecond, time.Millisecond
	c := job.Call{Config: job.Config{Timeout: timeout, Limits: job.Limits{Grace: grace}}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, err := e.Load(b.Context(), all[name])
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		b.Run(name, func(b *testing.B) {
			var over []time.Duration
			for b.Loop() {
				out := e.Run(b.Context(), m, c)
				if out.Verdict != job.Deadline {
					b.Fatal(out.Error)
				}
				over = append(over, out.Took-timeout-grace)
			}
			slices.Sort(over)
			b.ReportMetric(over[len(over)/2].Seconds()*1000, "ms_late_median")
			b.ReportMetric(over[len(over)-1].Seconds()*1000, "ms_late_most")
		})
	}
}
