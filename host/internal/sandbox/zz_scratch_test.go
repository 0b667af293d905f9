package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

var _ = runtime.GC
var _ = fmt.Sprint
var _ = strings.Repeat

func over(t *testing.T, name string, mem uint32, b *builder, c job.Call, warm bool, code ...[]byte) {
	b.pages(mem)
	spin := []byte{}
	if warm {
		// loop 30M iterations
		spin = slices.Concat(i32(30_000_000), setLocal(0), op(0x03, 0x40), getLocal(0), i32(1), op(0x6b), []byte{0x22, 0}, op(0x0d, 0), op(0x0b))
	}
	body := slices.Concat(spin, op(0x03, 0x40), slices.Concat(code...), op(0x0c, 0), op(0x0b), op(0))
	wasm := b.job(body)
	e, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m := load(t, e, wasm)
	c.Config.Timeout = 100 * time.Millisecond
	c.Config.Limits.Grace = time.Millisecond
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	out := e.Run(t.Context(), m, c)
	runtime.ReadMemStats(&m1)
	t.Logf("%-20s over %v calls %d %s  alloc %d MB %s", name, out.Took-101*time.Millisecond, out.HostCalls, out.Verdict, (m1.TotalAlloc-m0.TotalAlloc)>>20, out.Error[:min(len(out.Error), 100)])
}

func TestScratchOver(t *testing.T) {
	four := strings.Repeat(valI32, 4)
	b := &builder{}
	f := b.fromHost(wasiModule, "poll_oneoff", four, valI32)
	over(t, "poll", 1000, b, job.Call{}, true, drop(invokes(f, 0, 0, 4096, 0)))
	b = &builder{}
	f = b.fromHost(wasiModule, "fd_write", four, valI32)
	over(t, "fd_write", 1000, b, job.Call{}, true, drop(invokes(f, 1, 0, 1<<20, 0)))
	b = &builder{}
	f = b.abi("error_set")
	c := job.Call{Secrets: map[string]string{"a": pem()}}
	c.Config.Allow.Secrets = []string{"a"}
	over(t, "error_set", 1000, b, c, true, drop(invokes(f, 0, 60<<16)))
	b = &builder{}
	f = b.abi("result_set")
	over(t, "result_set", 1000, b, job.Call{}, true, drop(invokes(f, 0, 1<<20)))
	b = &builder{}
	f = b.abi("secret_get")
	over(t, "secret_get", 1000, b, c, true, drop(invokes(f, 0, 60<<20, 0, 0)))
	b = &builder{}
	f = b.fromHost(wasiModule, "random_get", valI32+valI32, valI32)
	over(t, "random", 1000, b, c, true, drop(invokes(f, 0, 60<<20)))
	b = &builder{}
	f = b.abi("log")
	c.Config.Limits.LogLine = 1 << 20
	over(t, "log", 1000, b, c, true, invokes(f, 2, 0, 60<<20))
	for _, name := range []string{"abort"} {
		_ = name
	}
	b = &builder{}
	f = b.fromHost(envModule, "console.log", valI32, "")
	over(t, "console", 1000, b, c, true, store32(1<<20-4, i32(60<<20)), invokes(f, 1<<20))
}

func pem() string {
	var b strings.Builder
	for i := 0; b.Len() < 60<<10; i++ {
		fmt.Fprintf(&b, "%060d%04d\n", 0, i)
	}
	return b.String()
}
