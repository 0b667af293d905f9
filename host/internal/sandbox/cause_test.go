package sandbox

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// The text that a runtime writes to stderr before a trap precedes the engine's stack. A
// reason that the guest has set precedes both.
func TestReasonOfATrapComesFirst(t *testing.T) {
	t.Parallel()
	stack := strings.Repeat("goroutine 1 [running]:\n", maxStderrKept/20)
	for name, tt := range map[string]struct {
		build func(a *asking)
		first string
	}{
		"panic of Go":         {func(a *asking) { a.writes(2, "panic: it broke\n\n", stack) }, "panic: it broke"},
		"panic in pieces":     {func(a *asking) { a.writes(2, "panic: ", "it ", "broke") }, "panic: it broke"},
		"fatal error":         {func(a *asking) { a.writes(2, "out\nfatal error: all goroutines are asleep\n", stack) }, "fatal error: all goroutines are asleep"},
		"assert of C":         {func(a *asking) { a.writes(2, "Assertion failed: n > 0 (job.c: run: 7)\n") }, "Assertion failed: n > 0 (job.c: run: 7)"},
		"the last one":        {func(a *asking) { a.writes(2, "panic: survived\n", "panic: it broke\n") }, "panic: it broke"},
		"a secret":            {func(a *asking) { a.writes(2, "panic: no s3cret-token\n") }, "panic: no ***"},
		"very long":           {func(a *asking) { a.writes(2, "panic: "+strings.Repeat("x", 2*maxCause)) }, "panic: " + strings.Repeat("x", maxCause-7) + "..."},
		"reason of the guest": {func(a *asking) { a.writes(2, "panic: 42\n").ask(abi.FuncErrorSet, "a reason") }, "a reason"},
		"other words":         {func(a *asking) { a.writes(2, "no panic: here\n") }, "wasmjob_execute: wasm error: unreachable"},
		"words on stdout":     {func(a *asking) { a.writes(1, "panic: here\n") }, "wasmjob_execute: wasm error: unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := asking{end: op(opUnreachable)}
			tt.build(&a)
			_, _, out := a.run(t, job.Call{Secrets: map[string]string{"token": "s3cret-token"}})
			if first, _, _ := strings.Cut(out.Error, "\n"); out.Verdict != job.Failure || first != tt.first {
				t.Errorf("the first line is %q, want %q", first, tt.first)
			}
		})
	}
}
