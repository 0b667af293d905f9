package sandbox

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileArg {
		os.Exit(CompileInSubprocess(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func newEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func load(t *testing.T, e *Engine, wasm []byte) *Module {
	t.Helper()
	m, err := e.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// runOnce runs a module in a new engine.
func runOnce(t *testing.T, wasm []byte, c job.Call) job.Outcome {
	t.Helper()
	e := newEngine(t)
	return e.Run(t.Context(), load(t, e, wasm), c)
}

func expect(t *testing.T, out job.Outcome, v job.Verdict, inError string) {
	t.Helper()
	if out.Verdict != v || !strings.Contains(out.Error, inError) {
		t.Errorf("verdict %q, error %q; want %q with %q", out.Verdict, out.Error, v, inError)
	}
}

func TestRunResultCodes(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for _, c := range []struct {
		code    int64
		verdict job.Verdict
		text    string
	}{
		{0, job.OK, ""},
		{1, job.Failure, "code 1"},
		{2, job.Retryable, "another attempt"},
		{3, job.Nothing, ""},
		{4, job.Failure, "no meaning"},
		{127, job.Failure, "no meaning"},
		{128, job.Failure, "code 128"},
		{99999, job.Failure, "code 99999"},
		{-1, job.Failure, "no meaning"},
	} {
		b := &builder{}
		out := e.Run(t.Context(), load(t, e, b.job(i32(c.code))), job.Call{})
		expect(t, out, c.verdict, c.text)
		if int64(out.Code) != c.code || !out.HasCode || out.PeakBytes != pageSize || out.Took <= 0 || len(out.Digest) != 64 {
			t.Errorf("code %d: %+v", c.code, out)
		}
	}
}

// A failure inside the engine reveals nothing of the host.
func TestRunHidesTheHostsStack(t *testing.T) {
	t.Parallel()
	b := &builder{}
	stat := b.fromHost(wasiModule, "fd_filestat_get", valI32+valI32, valI32)
	// The engine panics if it cannot open a granted directory.
	var c job.Call
	c.Config.Limits.OpenFiles = 1
	c.Config.Allow.Dirs = []job.Dir{{Host: t.TempDir(), Guest: "/a"}, {Host: t.TempDir(), Guest: "/b"}}
	out := runOnce(t, b.job(drop(invokes(stat, 3, 0)), invokes(stat, 4, 0)), c)
	expect(t, out, job.Failure, "recovered by wazero")
	if strings.Contains(out.Error, "goroutine") || strings.Contains(out.Error, ".go:") {
		t.Error(out.Error)
	}
}

// readField is a module that reads one text field into a buffer of the given size at 64,
// and sets it as its result.
func readField(field, room int64) []byte {
	b := &builder{}
	ctxStr, result := b.abi(abi.FuncCtxStr), b.abi(abi.FuncResultSet)
	return b.job(
		i32(field), i32(64), i32(room), call(ctxStr), setLocal(0),
		i32(64), i32(room), call(result), op(opDrop),
		getLocal(0))
}

func TestRunReadsFollowTheRule(t *testing.T) {
	t.Parallel()
	c := job.Call{Config: job.Config{Name: "report"}}
	for _, tt := range []struct {
		name        string
		field, room int64
		code        int32
		result      string
	}{
		{"exact", abi.FieldJobName, 6, 6, "report"},
		{"longer", abi.FieldJobName, 8, 6, "report\x00\x00"},
		{"short writes nothing", abi.FieldJobName, 5, 6, "\x00\x00\x00\x00\x00"},
		{"none", abi.FieldJobName, 0, 6, ""},
		{"no parameter", abi.FieldShardingParam, 4, abi.ErrNotFound, "\x00\x00\x00\x00"},
		{"unknown", 77, 4, abi.ErrUnknownField, "\x00\x00\x00\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := runOnce(t, readField(tt.field, tt.room), c)
			if out.Code != tt.code || string(out.Result) != tt.result || out.HostCalls != 2 {
				t.Errorf("code %d, result %q, %d calls; want %d, %q, 2", out.Code, out.Result, out.HostCalls, tt.code, tt.result)
			}
		})
	}
}

func TestRunTraps(t *testing.T) {
	t.Parallel()
	badPointer := func() []byte {
		b := &builder{}
		f := b.abi(abi.FuncResultSet)
		return b.job(i32(65530), i32(7), call(f))
	}
	badBuffer := func() []byte { // a short value, and a buffer that ends outside the memory
		b := &builder{}
		f := b.abi(abi.FuncCtxStr)
		return b.job(i32(abi.FieldJobName), i32(65530), i32(7), call(f))
	}
	badLevel := func() []byte {
		b := &builder{}
		f := b.abi(abi.FuncLog)
		return b.job(i32(9), i32(0), i32(0), call(f), i32(0))
	}
	exit := func() []byte {
		b := &builder{}
		f := b.fromHost(wasiModule, "proc_exit", valI32, "")
		return b.job(i32(3), call(f), i32(0))
	}
	deep := func() []byte {
		b := &builder{}
		return b.job(call(1)) // itself
	}
	initTraps := func() []byte {
		b := &builder{}
		f := b.fn("", "", 0, op(opUnreachable))
		return b.export(abi.ExportInitialize, kindFunc, f).job(i32(0))
	}
	for _, tt := range []struct {
		name string
		wasm []byte
		text string
	}{
		{"unreachable", (&builder{}).job(op(opUnreachable)), "unreachable"},
		{"pointer outside", badPointer(), "outside of the memory"},
		{"buffer outside", badBuffer(), "outside of the memory"},
		{"unknown level", badLevel(), "no log level 9"},
		{"exit", exit(), "exit code 3"},
		{"recursion", deep(), "stack overflow"},
		{"initialize", initTraps(), "_initialize"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			m := load(t, e, tt.wasm)
			for range 2 { // nothing of the first run may remain
				out := e.Run(t.Context(), m, job.Call{})
				expect(t, out, job.Failure, tt.text)
				if out.Code != 0 || out.HasCode {
					t.Errorf("code %d, %v; want none", out.Code, out.HasCode)
				}
			}
		})
	}
}

func TestRunEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	c := job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}}
	e := newEngine(t)
	m := load(t, e, (&builder{}).job(forever()))
	for range 2 {
		out := e.Run(t.Context(), m, c)
		expect(t, out, job.Deadline, "deadline of 1ms passed")
		if out.HasCode {
			t.Errorf("code %d, want none", out.Code)
		}
	}
	b := &builder{}
	f := b.fn("", "", 0, forever())
	inInit := b.export(abi.ExportInitialize, kindFunc, f).job(i32(0))
	expect(t, e.Run(t.Context(), load(t, e, inInit), c), job.Deadline, "deadline")
}

// asker loops until the host asks it to stop, and returns the reason plus 200.
func asker(pages ...uint32) []byte {
	b := &builder{}
	for _, n := range pages {
		b.pages(n)
	}
	f := b.abi(abi.FuncCancelled)
	return b.job(
		op(0x03, 0x40), call(f), op(0x22, 0), // loop: local.tee 0
		op(0x45, 0x0d, 0), op(opEnd), // i32.eqz br_if
		getLocal(0), i32(200), op(opI32Add))
}

func TestRunAsksTheGuestToStop(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	m := load(t, e, asker())
	out := e.Run(t.Context(), m, job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Hour}}})
	expect(t, out, job.Deadline, "deadline of 1ms passed")
	if out.Code != 200+abi.StopDeadline {
		t.Errorf("code %d", out.Code)
	}
	asked := 0
	out = e.Run(t.Context(), m, job.Call{Why: func() job.StopReason {
		if asked++; asked < 3 {
			return job.Continue
		}
		return job.StopSessionLost
	}})
	expect(t, out, job.Failure, "code 205")
	if out.HostCalls != 3 {
		t.Errorf("%d host calls", out.HostCalls)
	}
}

// The host's names of the stop reasons equal those of the ABI.
func TestStopReasonsAreTheABIs(t *testing.T) {
	t.Parallel()
	for reason, code := range map[job.StopReason]int32{
		job.Continue: abi.StopNone, job.StopDeadline: abi.StopDeadline, job.StopShutdown: abi.StopShutdown,
		job.StopDisabled: abi.StopDisabled, job.StopResharding: abi.StopResharding, job.StopSessionLost: abi.StopSessionLost,
	} {
		if int32(reason) != code {
			t.Errorf("reason %d is %d in the ABI", reason, code)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The guest itself signals that it runs.
	c := job.Call{Why: func() job.StopReason { cancel(); return job.Continue }}
	expect(t, e.Run(ctx, load(t, e, asker()), c), job.Stopped, "cancelled")
	// The context has ended before the run began.
	expect(t, e.Run(ctx, load(t, e, asker()), c), job.Stopped, "cancelled")
}

func TestCloseEndsRuns(t *testing.T) {
	t.Parallel()
	e, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, asker())
	running, over := make(chan struct{}), make(chan job.Outcome)
	go func() {
		first := true
		over <- e.Run(context.Background(), m, job.Call{Why: func() job.StopReason {
			if first {
				close(running)
				first = false
			}
			return job.Continue
		}})
	}()
	<-running
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	expect(t, <-over, job.Stopped, "cancelled")
	if err := <-closed; err != nil {
		t.Error(err)
	}
	expect(t, e.Run(t.Context(), m, job.Call{}), job.Failure, "closed")
	if _, err := e.Load(t.Context(), asker()); err != ErrClosed { //nolint:errorlint // returned as it is
		t.Errorf("load after close: %v", err)
	}
}

func TestRunNumbers(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	call1 := job.Call{
		Total: 7, Item: 3, Attempt: 2, Fence: 1 << 40, Failover: true, Scheduled: at,
		Config: job.Config{Timeout: 5 * time.Second},
	}
	b := &builder{}
	num := b.abi(abi.FuncCtxInt)
	wasm := b.job(getNumber(num, abi.FieldShardingTotal), getNumber(num, abi.FieldShardingItem), op(opI32Add))
	if out := runOnce(t, wasm, call1); out.Code != 10 {
		t.Errorf("total + item = %d", out.Code)
	}
	f := newFacts(&call1, "", time.UnixMilli(5), time.UnixMilli(5005))
	for field, want := range map[uint32]int64{
		abi.FieldShardingTotal: 7, abi.FieldShardingItem: 3, abi.FieldAttempt: 2, abi.FieldFence: 1 << 40,
		abi.FieldFailover: 1, abi.FieldMisfire: 0, abi.FieldHostMinor: abi.HostMinor, abi.FieldStreaming: 0,
		abi.FieldScheduledTime: at.UnixMilli(), abi.FieldFireTime: at.UnixMilli(), abi.FieldDeadline: at.UnixMilli() + 5000,
		abi.FieldFetchCount: 0, abi.FieldOutcome: abi.NoInt, abi.FieldFireSucceeded: abi.NoInt, abi.FieldFireFailed: abi.NoInt, abi.FieldFireSkipped: abi.NoInt, 116: abi.NoInt,
	} {
		if got := f.numberField(field); got != want {
			t.Errorf("field %d: %d, want %d", field, got, want)
		}
	}
	call1.Config.Allow.Clock = "real"
	f = newFacts(&call1, "", time.UnixMilli(5), time.UnixMilli(5005))
	if f.numberField(abi.FieldFireTime) != 5 || f.numberField(abi.FieldDeadline) != 5005 {
		t.Errorf("real clock: %d, %d", f.numberField(abi.FieldFireTime), f.numberField(abi.FieldDeadline))
	}
}

func getNumber(f uint32, field int64) []byte {
	return bytes.Join([][]byte{i32(field), call(f), op(opWrapI64)}, nil)
}

func TestModuleLifetime(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	wasm := (&builder{}).job(i32(0))
	const n = 8
	mods := make(chan *Module, n)
	for range n {
		go func() {
			m, err := e.Load(context.Background(), wasm)
			if err != nil {
				t.Error(err)
			}
			mods <- m
		}()
	}
	all := make([]*Module, 0, n)
	for range n {
		all = append(all, <-mods)
	}
	for _, m := range all {
		if m.compiled != all[0].compiled {
			t.Error("the same bytes were compiled twice")
		}
	}
	for _, m := range all[1:] {
		m.Close()
		m.Close() // a second time does nothing
	}
	expect(t, e.Run(t.Context(), all[0], job.Call{}), job.OK, "")
	all[0].Close()
	if len(e.modules) != 0 {
		t.Errorf("%d modules left", len(e.modules))
	}
	expect(t, e.Run(t.Context(), all[0], job.Call{}), job.Failure, "closed")
	again := load(t, e, wasm)
	expect(t, e.Run(t.Context(), again, job.Call{}), job.OK, "")
}

// A fault of the host must not end it because of a guest.
func TestEntryThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	in := &instance{entries: map[string]*exportedFunc{"e": {}}, reusable: true}
	r := &run{in: in}
	if _, err := r.callExport("e", abi.InRun); err == nil || !strings.Contains(err.Error(), "e: the host failed") || in.reusable {
		t.Errorf("error %v, sound %t", err, in.reusable)
	}
}
