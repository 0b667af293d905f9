package sqltrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// After a server lost the registry, it writes how its guest ended, and a later server what
// became of the run.
func TestWriteSaysWhatBecameOfATakenRun(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		here := run("j", 0, 10)
		here.State, here.Reason, here.Error = trace.TakenOver, reason.Of(reason.RegistryLost), "asked to stop"
		later := trace.Row{Job: "j", Run: here.Run, Attempt: 1, Instant: 10, Cause: trace.Schedule, State: trace.Interrupted,
			Reason: reason.Of(reason.ServerGoneNextInstant), Instance: "10.0.0.1@-@7"}
		write(t, s, here)
		again := here
		again.State, again.Reason = trace.Retried, reason.Reason{}
		write(t, s, again)
		if diff := cmp.Diff([]trace.Row{here}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
			t.Error("after a row that does not say what became of it", diff)
		}
		write(t, s, later)
		last := later
		last.State, last.Reason = trace.Lost, reason.Reason{}
		write(t, s, last, here)
		want := here
		want.State, want.Reason = later.State, later.Reason
		if diff := cmp.Diff([]trace.Row{want}, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
			t.Error(diff)
		}
	})
}
