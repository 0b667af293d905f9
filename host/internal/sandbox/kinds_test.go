package sandbox

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestKindMustBeThere(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	execute := load(t, e, (&builder{}).job(i32(0)))
	strategy := load(t, e, (&builder{}).entry(abi.ExportShard, i32(0)).guest())
	for _, tt := range []struct {
		m    *Module
		kind job.Kind
		text string
	}{
		{execute, job.Dataflow, "the job is a dataflow, but module " + execute.Digest() + " is not; it can be: simple"},
		{execute, job.Script, "the job is a script"},
		{strategy, job.Simple, "it can be: strategy"},
		{strategy, "", "the job is simple"},
		{execute, "http", `unknown kind of job "http"`},
	} {
		expect(t, e.Run(t.Context(), tt.m, job.Call{Config: job.Config{Kind: tt.kind}}), job.Failure, tt.text)
	}
	expect(t, e.Run(t.Context(), execute, job.Call{Event: "odd"}), job.Failure, `unknown event "odd"`)
	expect(t, e.Run(t.Context(), execute, job.Call{Event: job.FireStarted}), job.Nothing, "")
}

// listening records the calls: each entry appends a character, and execute and after set
// all of them as the result.
func listening(before, execute, after []byte) []byte {
	b := &builder{}
	result := b.abi(abi.FuncResultSet)
	appendChar := func(c int64) []byte {
		return slices.Concat(
			plus(load8(0), i32(1)), i32(c), op(0x3a, 0, 0),
			store8(0, plus(load8(0), i32(1))),
			i32(1), load8(0), call(result), op(opDrop))
	}
	return b.entry(abi.ExportBefore, appendChar('b'), before).
		entry(abi.ExportExecute, appendChar('e'), execute).
		entry(abi.ExportAfter, appendChar('a'), after).
		entry(abi.ExportStarted, appendChar('s'), i32(0)).
		entry(abi.ExportCompleted, appendChar('c'), i32(150)).guest()
}

func TestListeners(t *testing.T) {
	t.Parallel()
	ok, trap := i32(0), op(opUnreachable)
	for _, tt := range []struct {
		name                   string
		before, execute, after []byte
		verdict                job.Verdict
		code                   int32
		result, text, log      string
	}{
		{"all", ok, ok, ok, job.OK, 0, "bea", "", ""},
		{"veto", i32(3), ok, ok, job.Nothing, 3, "b", "", ""},
		{"failing before", i32(160), ok, ok, job.Failure, 160, "b", "code 160", ""},
		{"before without sense", i32(7), ok, ok, job.Failure, 7, "b", "wasmjob_before returned 7", ""},
		{"before traps", trap, ok, ok, job.Failure, 0, "b", "wasmjob_before: ", ""},
		{"execute fails", ok, i32(1), ok, job.Failure, 1, "bea", "code 1", ""},
		{"execute traps", ok, trap, ok, job.Failure, 0, "be", "wasmjob_execute: ", ""},
		{"after fails", ok, ok, i32(1), job.OK, 0, "bea", "", "listener=wasmjob_after code=1"},
		{"after traps", ok, ok, trap, job.OK, 0, "bea", "", "unreachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			out := runOnce(t, listening(tt.before, tt.execute, tt.after), job.Call{Log: textLog(&log)})
			expect(t, out, tt.verdict, tt.text)
			if out.Code != tt.code || string(out.Result) != tt.result {
				t.Errorf("code %d, result %q", out.Code, out.Result)
			}
			if !strings.Contains(log.String(), tt.log) {
				t.Errorf("no %q in the log:\n%s", tt.log, log.String())
			}
		})
	}
	e := newEngine(t)
	m := load(t, e, listening(ok, ok, ok))
	out := e.Run(t.Context(), m, job.Call{Event: job.FireStarted})
	expect(t, out, job.OK, "")
	if string(out.Result) != "s" {
		t.Errorf("started: %q", out.Result)
	}
	out = e.Run(t.Context(), m, job.Call{Event: job.FireCompleted})
	expect(t, out, job.Failure, "code 150")
	if string(out.Result) != "c" {
		t.Errorf("completed: %q", out.Result)
	}
}

// A function that is called in the wrong phase, or without its grant, returns an error
// code and has no effect. Each code reaches the guest unchanged.
func TestPhasesAndGrants(t *testing.T) {
	t.Parallel()
	try := func(entry, name string, params int) int32 {
		b := &builder{}
		f := b.abi(name)
		code := slices.Concat(slices.Repeat(i32(0), params), call(f))
		if name == abi.FuncNow {
			code = append(code, opWrapI64)
		}
		zero := i32(0)
		all := map[string][]byte{abi.ExportExecute: zero, abi.ExportFetch: zero, abi.ExportProcess: zero}
		all[entry] = code
		for name, code := range all {
			if name == abi.ExportFetch && entry == abi.ExportProcess {
				continue
			}
			b.entry(name, code)
		}
		if entry == abi.ExportProcess {
			b.entry(abi.ExportFetch, invokes(b.imported-1, 0, 0), i32(1), op(0x71)) // bitwise and
		}
		c := job.Call{Config: job.Config{Kind: job.Dataflow}}
		switch entry {
		case abi.ExportExecute:
			c.Config.Kind = job.Simple
		case abi.ExportCompleted:
			c.Event, c.Config.Allow.State = job.FireCompleted, true
		}
		return runOnce(t, b.guest(), c).Code
	}
	for _, tt := range []struct {
		entry, name string
		params      int
		want        int32
	}{
		{abi.ExportExecute, abi.FuncBatchAdd, 2, abi.ErrWrongPhase},
		{abi.ExportExecute, abi.FuncBatchCount, 0, abi.ErrWrongPhase},
		{abi.ExportExecute, abi.FuncShardAssign, 2, abi.ErrWrongPhase},
		{abi.ExportFetch, abi.FuncBatchCount, 0, abi.ErrWrongPhase},
		{abi.ExportFetch, abi.FuncBatchRead, 3, abi.ErrWrongPhase},
		{abi.ExportCompleted, abi.FuncStateGet, 4, abi.ErrWrongPhase},
		{abi.ExportCompleted, abi.FuncStateSet, 4, abi.ErrWrongPhase},
		{abi.ExportCompleted, abi.FuncStateDelete, 2, abi.ErrWrongPhase},
		{abi.ExportCompleted, abi.FuncNow, 0, abi.ErrDenied},
		{abi.ExportExecute, abi.FuncNow, 0, abi.ErrDenied},
		{abi.ExportExecute, abi.FuncRandom, 2, abi.ErrDenied},
		{abi.ExportExecute, abi.FuncStateGet, 4, abi.ErrDenied},
		{abi.ExportExecute, abi.FuncSecretGet, 4, abi.ErrDenied},
		{abi.ExportExecute, abi.FuncHTTPRequest, 2, abi.ErrDenied},
	} {
		if got := try(tt.entry, tt.name, tt.params); got != tt.want {
			t.Errorf("%s in %s: %d, want %d", tt.name, tt.entry, got, tt.want)
		}
	}
}

// echo is a script that prints its arguments or its environment, each followed by a zero
// byte, and exits with a code.
func echo(sizes, get string, end func(exit uint32) []byte) []byte {
	b := &builder{}
	both := valI32 + valI32
	fSizes, fGet := b.fromHost(wasiModule, sizes, both, valI32), b.fromHost(wasiModule, get, both, valI32)
	write, exit := b.fromHost(wasiModule, "fd_write", both+both, valI32), b.fromHost(wasiModule, "proc_exit", valI32, "")
	f := b.fn("", "", 0,
		drop(invokes(fSizes, 0, 4)), drop(invokes(fGet, 16, 1024)),
		store32(8, i32(1024)), store32(12, load32(4)),
		drop(invokes(write, 1, 8, 1, 0)),
		store32(1024, i32('b'|'a'<<8|'d'<<16|'\n'<<24)), store32(12, i32(4)),
		drop(invokes(write, 2, 8, 1, 0)),
		end(exit))
	return b.pages(1).export(abi.ExportStart, kindFunc, f).export(abi.ExportMemory, kindMemory, 0).bytes()
}

func TestScript(t *testing.T) {
	t.Parallel()
	c := job.Call{
		Config: job.Config{
			Name: "clean", Module: "tidy", Kind: job.Script, Args: []string{"-v", ""},
			Allow: job.Allow{Env: map[string]string{"TZ": "UTC", "WASMJOB_JOB": "other"}},
		},
		Total: 3, Item: 2, RunID: "clean/2/5", Attempt: 4, Fence: 77,
		ItemParam: "a=b c", HasItemParam: true, Scheduled: time.UnixMilli(1_700_000_000_007),
	}
	c.Config.Param = "p"
	exit := func(code int64) func(uint32) []byte { return func(f uint32) []byte { return invokes(f, code) } }
	plain := func(uint32) []byte { return nil }
	args := "tidy\x00-v\x00\x00" + string(newFacts(&c, "", time.Time{}, time.Time{}).contextJSON()) + "\x00"

	for _, end := range []func(uint32) []byte{plain, exit(0)} {
		out := runOnce(t, echo("args_sizes_get", "args_get", end), c)
		expect(t, out, job.OK, "")
		if string(out.Result) != args || out.Code != 0 || !out.HasCode {
			t.Errorf("%q, code %d", out.Result, out.Code)
		}
	}
	out := runOnce(t, echo("args_sizes_get", "args_get", exit(3)), c)
	expect(t, out, job.Failure, "exit code 3\nstderr:\nbad")
	if out.Code != 3 || !out.HasCode {
		t.Errorf("code %d, %v", out.Code, out.HasCode)
	}
	out = runOnce(t, echo("args_sizes_get", "args_get", func(uint32) []byte { return op(opUnreachable) }), c)
	expect(t, out, job.Failure, "unreachable")

	out = runOnce(t, echo("environ_sizes_get", "environ_get", plain), c)
	vars := strings.Split(strings.TrimSuffix(string(out.Result), "\x00"), "\x00")
	slices.Sort(vars)
	want := []string{"TZ=UTC", "WASMJOB_ATTEMPT=4", "WASMJOB_FENCE=77", "WASMJOB_ITEM=2", "WASMJOB_ITEM_PARAM=a=b c",
		"WASMJOB_JOB=clean", "WASMJOB_JOB_PARAM=p", "WASMJOB_RUN_ID=clean/2/5", "WASMJOB_SCHEDULED=2023-11-14T22:13:20.007Z", "WASMJOB_TOTAL=3"}
	if !slices.Equal(vars, want) {
		t.Errorf("environment %q", vars)
	}
	c.Config.Limits.Result = 4
	out = runOnce(t, echo("args_sizes_get", "args_get", plain), c)
	expect(t, out, job.OK, "")
	if string(out.Result) != "tidy" {
		t.Errorf("cut: %q", out.Result)
	}
}
