package extism

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

var guests = flag.String("guests", filepath.Join("..", "..", "..", "..", "build", "bench", "call"), "folder of the two guests")

// task is an input for the guest and the beginning of its answer.
type task struct{ name, input, want string }

// tasks are inputs: a word, and a text as long as the context of a job.
var tasks = []task{
	{"word", "world", "5 bytes, 1 words, "},
	{"text", strings.TrimSpace(strings.Repeat("a small piece of work ", 14)), "307 bytes, 70 words, "},
}

// host calls the guest and returns its answer.
type host struct {
	fresh func(input string) string // creates an instance, calls it, destroys it
	warm  func(input string) string // calls an existing instance
}

// BenchmarkCall compares calls of one guest, built from one source for both hosts,
// each with a deadline. It alternates between the hosts and reports medians.
func BenchmarkCall(b *testing.B) {
	ours, theirs := sandboxHost(b), extismHost(b)
	for _, t := range tasks {
		if a, c := ours.warm(t.input), theirs.warm(t.input); a != c || !strings.HasPrefix(a, t.want) {
			b.Fatalf("the answers are %q and %q", a, c)
		}
		b.Run("warm/"+t.name, func(b *testing.B) { t.compare(b, ours.warm, theirs.warm, 1000) })
		b.Run("fresh/"+t.name, func(b *testing.B) { t.compare(b, ours.fresh, theirs.fresh, 100) })
	}
}

func (t task) compare(b *testing.B, ours, theirs func(string) string, calls int) {
	rounds := 30
	if testing.Short() {
		rounds = 2
	}
	turn := func(call func(string) string) float64 {
		began := time.Now()
		for range calls {
			if got := call(t.input); !strings.HasPrefix(got, t.want) {
				b.Fatalf("the answer is %q", got)
			}
		}
		return float64(time.Since(began).Microseconds()) / float64(calls)
	}
	var a, c, gain []float64
	for b.Loop() {
		for range rounds {
			our, their := turn(ours), turn(theirs)
			a, c, gain = append(a, our), append(c, their), append(gain, their/our)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(a), "µs_ours")
	b.ReportMetric(median(c), "µs_extism")
	b.ReportMetric(median(gain), "x_faster_than_extism>=4")
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

func guest(b *testing.B, name string) []byte {
	b.Helper()
	wasm, err := os.ReadFile(filepath.Join(*guests, name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip("left out: the guests are not built: .ci/guests/bench.sh build/bench")
	}
	if err != nil {
		b.Fatal(err)
	}
	return wasm
}

func sandboxHost(b *testing.B) host {
	wasm := guest(b, "wasmjob")
	e, err := sandbox.New(sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	m, err := e.Load(b.Context(), wasm)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.Close)
	call := func(pool int) func(string) string {
		c := job.Call{Config: job.Config{Name: "call", Timeout: time.Minute, Limits: job.Limits{Pool: job.Pool{Size: pool}}}}
		return func(input string) string {
			c.Config.Param = input
			out := e.Run(b.Context(), m, c)
			if out.Verdict != job.OK {
				b.Fatal(out.Error)
			}
			return string(out.Result)
		}
	}
	return host{fresh: call(0), warm: call(1)}
}

func extismHost(b *testing.B) host {
	ctx := b.Context()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: guest(b, "extism")}}, Timeout: uint64(time.Minute.Milliseconds())}
	code, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = code.Close(context.WithoutCancel(ctx)) })
	start := func() *extism.Plugin {
		p, err := code.Instance(ctx, extism.PluginInstanceConfig{})
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	call := func(p *extism.Plugin, input string) string {
		_, out, err := p.Call("call", []byte(input))
		if err != nil {
			b.Fatal(err)
		}
		return string(out)
	}
	kept := start()
	b.Cleanup(func() { _ = kept.Close(context.WithoutCancel(ctx)) })
	return host{
		fresh: func(input string) string {
			p := start()
			answer := call(p, input)
			if err := p.Close(ctx); err != nil {
				b.Fatal(err)
			}
			return answer
		},
		warm: func(input string) string { return call(kept, input) },
	}
}
