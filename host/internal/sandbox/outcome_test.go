package sandbox

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// naming encodes a section with the names of functions.
func naming(names map[uint32]string) []byte {
	list := uleb(uint32(len(names)))
	for i := range uint32(100) {
		if name, ok := names[i]; ok {
			list = append(append(list, uleb(i)...), text(name)...)
		}
	}
	return section(0, slices.Concat(text("name"), []byte{1}, text(string(list))))
}

// The reason of a guest that was ended at its deadline names the function, so that its
// author knows where it ignored cancelled.
func TestADeadlineNamesTheFunction(t *testing.T) {
	t.Parallel()
	c := job.Call{Config: job.Config{Timeout: 50 * time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}}
	b := &builder{customSections: naming(map[uint32]string{1: "main.(*T).spin[...]"})}
	out := runOnce(t, b.job(forever()), c)
	expect(t, out, job.Deadline, "deadline of 50ms passed; ended 1ms later in main.(*T).spin[...]\nwasm stack trace:\n\t.main.(*T).spin[...]() i32")
}

// So does that of one that was cancelled, and it has what the guest said.
func TestACancelledRunNamesTheFunction(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &builder{customSections: naming(map[uint32]string{3: "main.spin"})}
	say, asks := b.abi(abi.FuncErrorSet), b.abi(abi.FuncCancelled)
	wasm := b.putData(0, "at row 17").job(i32(0), i32(9), call(say), op(opDrop), call(asks), op(opDrop), forever())
	e := newEngine(t)
	out := e.Run(ctx, load(t, e, wasm), job.Call{Why: func() job.StopReason { cancel(); return job.Continue }})
	expect(t, out, job.Stopped, "ended because the run was cancelled, in main.spin\nat row 17")
}

func TestInnermostFunction(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]string{
		"\t.spin()\n\t.run(i32,i64) i32":       "spin",
		"\tmain.main.(*T).work(i32) (i32,i64)": "main.main.(*T).work",
		"\t.$12(f64)":                          "$12",
		"\twasi_snapshot_preview1.poll_oneoff(i32,i32,i32,i32) i32\n\t.runtime.usleep(i32)\n\t.main.run()": "wasi_snapshot_preview1.poll_oneoff, called by runtime.usleep",
		"\twasmjob_v1.http_request(i32,i32) i64\n\t.main.fetch(i32)":                                       "wasmjob_v1.http_request, called by main.fetch",
	} {
		if got := innermostCall(stack); got != want {
			t.Errorf("%q: %q, want %q", stack, got, want)
		}
	}
}

// The guest's own reason, the limits that it reached and its last output precede the
// stack, which can be long enough to displace everything else.
func TestTheReasonComesBeforeTheStack(t *testing.T) {
	t.Parallel()
	b := &builder{}
	says, writes := b.abi(abi.FuncErrorSet), b.fromHost(wasiModule, "fd_write", strings.Repeat(valI32, 4), valI32)
	b.putData(0, "the reason").putData(20, "panic: oh\n").putData(40, "\x14\x00\x00\x00\x0a\x00\x00\x00")
	entry := b.imported + 1
	b.customSections = naming(map[uint32]string{entry: strings.Repeat("n", wasm.MaxName)})
	out := runOnce(t, b.job(invokes(says, 0, 10), op(opDrop), invokes(writes, 2, 40, 1, 60), op(opDrop),
		i32(10_000), op(0x40, 0, opDrop, opUnreachable)), job.Call{})
	expect(t, out, job.Failure, "the reason\n")
	rest := out.Error
	for _, part := range []string{"the reason\n", "unreachable\nthe memory limit of ", "\nstderr:\npanic: oh", "\nwasm stack trace:\n\t.nnn"} {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q is not at its place in %.300q", part, out.Error)
		}
		rest = after
	}
	if len(out.Error) > maxFailure+10 {
		t.Errorf("an error of %d bytes", len(out.Error))
	}
}
