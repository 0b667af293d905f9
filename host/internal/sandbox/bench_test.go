package sandbox

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// A number in a metric's name is its target: bench.awk compares.

// quantile sorts measurements and returns a quantile.
func quantile[T cmp.Ordered](of []T, q float64) T {
	slices.Sort(of)
	return of[int(q*float64(len(of)-1))]
}

func median[T cmp.Ordered](of []T) T { return quantile(of, 0.5) }

// iterations returns how often to measure; with -short, just enough to show that it
// works.
func iterations(n int) int {
	if testing.Short() {
		return max(n/20, 1)
	}
	return n
}

func benchEngine(b *testing.B, o Options) *Engine {
	b.Helper()
	e, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	return e
}

func benchLoad(b *testing.B, e *Engine, wasm []byte) *Module {
	b.Helper()
	m, err := e.Load(b.Context(), wasm)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	return m
}

// BenchmarkRun shows the time and the allocations of one run: a fresh instance unless
// there is a pool, one call, and its end.
func BenchmarkRun(b *testing.B) {
	e := benchEngine(b, Options{})
	pooled := job.Config{Limits: job.Limits{Pool: job.Pool{Size: 1}}}
	late := pooled
	late.Timeout = time.Minute
	small := benchLoad(b, e, (&builder{}).job(i32(0)))
	for _, c := range []struct {
		name   string
		module *Module
		config job.Config
	}{
		{"fresh", small, job.Config{}}, {"pooled", small, pooled}, {"pooled with a deadline", small, late},
	} {
		b.Run(c.name, func(b *testing.B) { benchRun(b, e, c.module, c.config) })
	}
	b.Run("fresh of Go", func(b *testing.B) {
		benchRun(b, e, benchLoad(b, e, benchProbe(b)), job.Config{Settings: map[string]string{"do": "config"}})
	})
}

func benchRun(b *testing.B, e *Engine, m *Module, c job.Config) {
	b.ReportAllocs()
	for b.Loop() {
		if out := e.Run(b.Context(), m, job.Call{Config: c}); out.Verdict != job.OK {
			b.Fatal(out.Error)
		}
	}
}

// benchProbe returns the guest that the Go toolchain builds.
func benchProbe(b *testing.B) []byte {
	b.Helper()
	wasm, err := probeModule()
	if errors.Is(err, errNoGo) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return wasm
}

// BenchmarkStop measures how long after its deadline an endless guest has ended while two
// others compute. It alternates with the engine's own method, which stops only loops and
// has neighbours of its own kind.
func BenchmarkStop(b *testing.B) {
	e := benchEngine(b, Options{})
	all := endless()
	loop := benchLoad(b, e, all["loop"])
	neighbour := func(ctx context.Context) { e.Run(ctx, loop, job.Call{}) }
	for _, c := range []struct{ name, guest string }{{"loop", "loop"}, {"recursion", "calls"}, {"filling", "filling"}} {
		m := benchLoad(b, e, all[c.guest])
		b.Run(c.name, func(b *testing.B) {
			var ours, theirs []time.Duration
			for b.Loop() {
				for range 10 {
					ours = append(ours, overshoots(b, iterations(20), neighbour, func() time.Duration { return runLate(b, e, m) })...)
					if c.name == "loop" {
						theirs = append(theirs, closingOvershoots(b, iterations(10))...)
					}
				}
			}
			b.ReportMetric(0, "ns/op") // most of it is the wait for the deadline
			ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
			b.ReportMetric(ms(median(ours)), "ms_late_p50<=5")
			b.ReportMetric(ms(quantile(ours, 0.99)), "ms_late_p99")
			if len(theirs) > 0 {
				b.ReportMetric(ms(median(theirs)), "ms_closing_p50")
				b.ReportMetric(ms(quantile(theirs, 0.99)), "ms_closing_p99")
				b.ReportMetric(float64(median(theirs))/float64(median(ours)), "x_sooner_than_closing")
			}
		})
	}
}

const deadline = 50 * time.Millisecond

// runLate gives a guest 50 ms and returns by how much it overran.
func runLate(b *testing.B, e *Engine, m *Module) time.Duration {
	const grace = time.Millisecond // part of the measured time
	out := e.Run(b.Context(), m, job.Call{Config: job.Config{Timeout: deadline - grace, Limits: job.Limits{Grace: grace}}})
	if out.Verdict != job.Deadline {
		b.Fatal(out.Error)
	}
	return out.Took - deadline
}

// overshoots measures n times beside two neighbours that begin and end with each
// measurement.
func overshoots(b *testing.B, n int, neighbour func(context.Context), late func() time.Duration) []time.Duration {
	ctx, cancel := context.WithCancel(b.Context())
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { neighbour(ctx) })
	}
	var all []time.Duration
	for range n {
		all = append(all, late())
	}
	cancel()
	both.Wait()
	return all
}

// closingOvershoots measures the engine's own method: no meter, each loop checks whether
// the context has ended.
func closingOvershoots(b *testing.B, n int) []time.Duration {
	ctx := b.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	defer rt.Close(ctx)
	code, err := rt.CompileModule(ctx, (&builder{}).job(forever()))
	if err != nil {
		b.Fatal(err)
	}
	run := func(ctx context.Context) {
		m, err := rt.InstantiateModule(b.Context(), code, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := m.ExportedFunction(abi.ExportExecute).Call(ctx); err == nil {
			b.Error("the guest ended by itself")
		}
	}
	return overshoots(b, n, run, func() time.Duration {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		run(ctx)
		return time.Since(began) - deadline
	})
}

// BenchmarkStart compares the first start of a Go guest with the next one, whose code is
// on disk: a sandbox, the module, and one run. The guests are the smallest one, if it was
// built, and one with encoding/json.
func BenchmarkStart(b *testing.B) {
	if hello, err := os.ReadFile(filepath.Join("..", "..", "..", "build", "bench", "call", "hello-go.wasm")); err == nil {
		b.Run("hello", func(b *testing.B) { benchStart(b, hello) })
	}
	b.Run("large", func(b *testing.B) { benchStart(b, benchProbe(b)) })
}

func benchStart(b *testing.B, wasm []byte) {
	start := func(dir string) time.Duration {
		runtime.GC() // a process that starts has no garbage
		began := time.Now()
		e, err := New(Options{CacheDir: dir})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		m, err := e.Load(b.Context(), wasm)
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		if out := e.Run(b.Context(), m, job.Call{Config: job.Config{Settings: map[string]string{"do": "config"}}}); out.Verdict != job.OK {
			b.Fatal(out.Error)
		}
		return time.Since(began)
	}
	var first, second []time.Duration
	for b.Loop() {
		for range iterations(3) {
			dir := b.TempDir()
			first = append(first, start(dir))
			for range iterations(7) {
				second = append(second, start(dir))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(first))/1e6, "ms_first")
	b.ReportMetric(float64(median(second))/1e6, "ms_second<=100")
	b.ReportMetric(float64(median(first))/float64(median(second)), "x_faster_than_first")
}

// BenchmarkCheck compares the time of the steps before the compiler, one by one, with
// that of the compiler.
func BenchmarkCheck(b *testing.B) {
	binary := benchProbe(b)
	e := benchEngine(b, Options{})
	var metering, pricing, compiling []time.Duration
	for b.Loop() {
		var took [4]time.Time
		took[0] = time.Now()
		m, err := decode(binary, defaultModule)
		if err != nil {
			b.Fatal(err)
		}
		out, err := meterModule(m, 0)
		if err != nil {
			b.Fatal(err)
		}
		took[1] = time.Now()
		if _, err = estimateCost(out.Wasm, m.Imported); err != nil {
			b.Fatal(err)
		}
		took[2] = time.Now()
		code, err := e.compile(out.Wasm)
		if err != nil {
			b.Fatal(err)
		}
		took[3] = time.Now()
		_ = code.Close(b.Context())
		metering = append(metering, took[1].Sub(took[0]))
		pricing = append(pricing, took[2].Sub(took[1]))
		compiling = append(compiling, took[3].Sub(took[2]))
	}
	whole := float64(median(compiling)) / 100
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(pricing))/1e6, "ms_price")
	b.ReportMetric((float64(median(pricing))+float64(median(metering)))/whole, "%_of_compiling<=5")
}
