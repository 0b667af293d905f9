package operator

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pile is a Sink in memory.
type pile struct {
	mu   sync.Mutex
	rows []trace.Row
}

func (p *pile) Write(_ context.Context, batch []trace.Row) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = append(p.rows, batch...)
	return nil
}

func (p *pile) written() []trace.Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rows)
}

func (p *pile) count(name string, s trace.State) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.rows {
		if r.Job == name && r.State == s {
			n++
		}
	}
	return n
}

func fine(_ context.Context, c job.Call) job.Outcome {
	return job.Outcome{Verdict: job.OK, Result: []byte(c.ItemParam)}
}

// start runs a host until the returned function is called, which returns the error of
// Run.
func start(t *testing.T, o host.Options) (h *host.Host, stop func() error) {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	return h, func() error {
		cancel()
		return <-done
	}
}

// server returns the options of one server of a cluster in this process.
func server(t *testing.T, reg registry.Registry, ip string) host.Options {
	t.Helper()
	return host.Options{
		Namespace: "n", Registry: reg, DataDir: t.TempDir(), Sinks: []trace.Sink{&pile{}},
		Instance: job.NewInstanceID(ip, "1"), Discover: true, Peers: host.Peers{Listen: "127.0.0.1:0"},
	}
}

// until waits until the status of a host's jobs satisfies is.
func until(t *testing.T, h *host.Host, what string, is func([]job.Status) bool) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond) // there is no event for it
	defer again.Stop()
	patience := time.NewTimer(20 * time.Second)
	defer patience.Stop()
	for !is(h.Jobs()) {
		select {
		case <-again.C:
		case <-patience.C:
			t.Fatalf("%s: %+v", what, h.Jobs())
		}
	}
}

func joined(name string, instances int) func([]job.Status) bool {
	return func(all []job.Status) bool {
		return slices.ContainsFunc(all, func(s job.Status) bool {
			return s.Config.Name == name && len(s.Instances) == instances && s.Instance != ""
		})
	}
}

func none(all []job.Status) bool { return len(all) == 0 }

// kit has the modules of the conformance kit.
func kit(name string) map[string]host.Module {
	return map[string]host.Module{name: {Path: filepath.Join("..", "..", "abi", "conformance", "wat", name+".wasm")}}
}
