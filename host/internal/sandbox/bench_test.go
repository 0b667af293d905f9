package sandbox

import (
	"errors"
	"testing"

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
	goGuest, err := probeModule()
	if errors.Is(err, errNoGo) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	bench("go", goGuest, job.Call{Config: job.Config{Settings: map[string]string{"do": "config"}}})
}
