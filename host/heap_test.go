package host

import (
	"context"
	"math"
	"runtime/debug"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

// Go's heap is limited while a host that is alone in its process runs modules.
func TestTheHeapIsBounded(t *testing.T) { //nolint:paralleltest // it changes the memory limit of the process
	t.Setenv("GOMEMLIMIT", "")
	const asked, other = 64 << 20, 1 << 40
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	_, usual := sandbox.Shares(0)
	_, heap := sandbox.Shares(asked)
	for what, c := range map[string]struct {
		alone, goRunner bool
		before          int64
		env             string
		memory          int64
		want            int64
	}{
		"alone":                      {alone: true, before: math.MaxInt64, want: int64(usual)},
		"alone, with a budget":       {alone: true, before: math.MaxInt64, memory: asked, want: int64(heap)},
		"not alone":                  {before: math.MaxInt64, want: math.MaxInt64},
		"there is a bound":           {alone: true, before: other, want: other},
		"the bound was switched off": {alone: true, before: math.MaxInt64, env: "off", want: math.MaxInt64},
		"jobs in Go":                 {alone: true, goRunner: true, before: math.MaxInt64, want: math.MaxInt64},
	} {
		debug.SetMemoryLimit(c.before)
		t.Setenv("GOMEMLIMIT", c.env)
		o := Options{DataDir: t.TempDir(), Alone: c.alone, Memory: c.memory}
		if c.goRunner {
			o.Runner = Func(fine)
		}
		h, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		<-h.Ready()
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := debug.SetMemoryLimit(-1); got != c.before {
			t.Errorf("%s: afterwards %d, want %d", what, got, c.before)
		}
	}
}
