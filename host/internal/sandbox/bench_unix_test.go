//go:build unix

package sandbox

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// processorTime returns the processor time of this process. Other processes do not count,
// its garbage collector does.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRate measures the runs per second of the smallest guest on one processor. It
// alternates with the bare engine: create an instance, call it, close it. Both have a
// deadline; the engine keeps its own.
func BenchmarkRate(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	wasm := (&builder{}).job(i32(0))
	e := benchEngine(b, Options{})
	m := benchLoad(b, e, wasm)
	ours := func(c job.Config) func() {
		c.Timeout = time.Minute
		return func() {
			if out := e.Run(b.Context(), m, job.Call{Config: c}); out.Verdict != job.OK {
				b.Fatal(out.Error)
			}
		}
	}
	bare, closing := bareRun(b, wasm, wazero.NewRuntimeConfig()), bareRun(b, wasm, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	pool := job.Config{Limits: job.Limits{Pool: job.Pool{Size: 1}}}
	b.Run("fresh", func(b *testing.B) { compareRates(b, ours(job.Config{}), bare, closing, "runs/s/core>=20000") })
	b.Run("pooled", func(b *testing.B) { compareRates(b, ours(pool), bare, closing, "runs/s/core>=100000") })
}

// bareRun returns a run without the sandbox.
func bareRun(b *testing.B, wasm []byte, config wazero.RuntimeConfig) func() {
	ctx := b.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, config)
	b.Cleanup(func() { _ = rt.Close(context.WithoutCancel(ctx)) })
	code, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		b.Fatal(err)
	}
	named := wazero.NewModuleConfig().WithName("")
	return func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		m, err := rt.InstantiateModule(ctx, code, named)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.ExportedFunction(abi.ExportExecute).Call(ctx); err != nil {
			b.Fatal(err)
		}
		if err := m.Close(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func compareRates(b *testing.B, ours, bare, closing func(), unit string) {
	const runs = 2000 // per turn
	var rates, overBare, overClosing []float64
	turn := func(run func()) float64 {
		before := processorTime(b)
		for range runs {
			run()
		}
		return runs / (processorTime(b) - before).Seconds()
	}
	for b.Loop() {
		for range iterations(20) {
			rate := turn(ours)
			rates = append(rates, rate)
			overBare = append(overBare, rate/turn(bare))
			overClosing = append(overClosing, rate/turn(closing))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(rates), unit)
	b.ReportMetric(median(overBare), "x_bare_engine")
	b.ReportMetric(median(overClosing), "x_bare_closing")
}
