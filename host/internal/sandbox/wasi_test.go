package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// wasiCall is a guest that calls one WASI function and returns its errno plus 200.
func wasiCall(name, params string, setUp []byte, args ...[]byte) []byte {
	b := &builder{}
	f := b.fromHost(wasiModule, name, params, valI32)
	return b.job(setUp, slices.Concat(args...), call(f), i32(200), op(opI32Add))
}

// The engine would allocate a list of two billion files.
func TestWASIGivesNoNumbersOfChoice(t *testing.T) {
	t.Parallel()
	c := job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{{Host: t.TempDir(), Guest: "/", Write: true}}}}}
	for _, fd := range []int64{0, 1, 3, 4} {
		out := runOnce(t, wasiCall("fd_renumber", valI32+valI32, nil, i32(fd), i32(0x7fffffff)), c)
		if out.Code != 200+errnoNotsup {
			t.Errorf("fd_renumber of %d: %d (%s)", fd, out.Code, out.Error)
		}
	}
}

// Standard input never has data, so waiting for it returns at once.
func TestWASIStdinIsEmpty(t *testing.T) {
	t.Parallel()
	four := valI32 + valI32 + valI32 + valI32
	subscription := slices.Concat(store8(8, i32(1)), store32(16, i32(0))) // fd_read of 0
	out := runOnce(t, wasiCall("poll_oneoff", four, subscription, i32(0), i32(64), i32(1), i32(128)), job.Call{})
	if out.Code != 200 {
		t.Errorf("poll: %d (%s)", out.Code, out.Error)
	}
	vector := store32(4, i32(64)) // 64 bytes to 0
	out = runOnce(t, wasiCall("fd_read", four, vector, i32(0), i32(0), i32(1), i32(128)), job.Call{})
	if out.Code != 200 {
		t.Errorf("read: %d (%s)", out.Code, out.Error)
	}
}

// A WASI sleep ends with the run, not after the time that the guest requested.
func TestWASISleepEndsWithTheRun(t *testing.T) {
	t.Parallel()
	// A relative sleep of 2^62 ns, as a subscription to a clock.
	subscription := store32(28, i32(0x40000000))
	wasm := wasiCall("poll_oneoff", valI32+valI32+valI32+valI32, subscription, i32(0), i32(64), i32(1), i32(128))
	c := job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}, Allow: job.Allow{Clock: "real"}}}
	expect(t, runOnce(t, wasm, c), job.Deadline, "deadline of 1ms passed")
	c = job.Call{Scheduled: time.Unix(5, 0)}
	if out := runOnce(t, wasm, c); out.Code != 200 {
		t.Errorf("without a clock: %d (%s)", out.Code, out.Error)
	}
}

// One call may request random numbers for all of the memory.
func TestRandomEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRun(&job.Call{}, &compilation{}, time.Now())
	r.ctx = ctx
	d := randomSource{&instance{run: r}}
	buf := make([]byte, 3*maxRandomRead)
	if n, err := d.Read(buf); n != maxRandomRead || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if _, err := d.Read(buf); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// One call may not request as much as the guest's memory has.
func TestWASIBoundsOneCall(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	two, three, four := many(2, valI32), many(3, valI32), many(4, valI32)
	const long = maxPath + 1
	for _, c := range []struct {
		name, params string
		args         []byte
		want         int32
	}{
		{"path_open", many(5, valI32) + valI64 + valI64 + two, slices.Concat(constants(0, 0, 0, long, 0), i64(0), i64(0), constants(0, 0)), errnoNametoolong},
		{"path_create_directory", three, constants(3, 0, long), errnoNametoolong},
		{"path_remove_directory", three, constants(3, 0, long), errnoNametoolong},
		{"path_unlink_file", three, constants(3, 0, long), errnoNametoolong},
		{"path_filestat_get", many(5, valI32), constants(3, 0, 0, long, 0), errnoNametoolong},
		{"path_filestat_set_times", four + valI64 + valI64 + valI32, slices.Concat(constants(3, 0, 0, long), i64(0), i64(0), i32(0)), errnoNametoolong},
		{"path_readlink", many(6, valI32), constants(3, 0, long, 0, 1, 0), errnoNametoolong},
		{"path_link", many(7, valI32), constants(3, 0, 0, long, 3, 0, 1), errnoNametoolong},
		{"path_link", many(7, valI32), constants(3, 0, 0, 1, 3, 0, long), errnoNametoolong},
		{"path_rename", many(6, valI32), constants(3, 0, long, 3, 0, 1), errnoNametoolong},
		{"path_rename", many(6, valI32), constants(3, 0, 1, 3, 0, long), errnoNametoolong},
		{"path_symlink", many(5, valI32), constants(0, long, 3, 0, 1), errnoNametoolong},
		{"path_symlink", many(5, valI32), constants(0, 1, 3, 0, long), errnoNametoolong},
		{"poll_oneoff", four, constants(0, 0, maxWaits+1, 0), errnoInval},
	} {
		if out := runOnce(t, wasiCall(c.name, c.params, nil, c.args), job.Call{}); out.Code != 200+c.want {
			t.Errorf("%s: %d (%s); want %d", c.name, out.Code, out.Error, 200+c.want)
		}
	}
	// Writing a part of the pieces is a valid result.
	var pieces []byte
	for i := range maxBuffers + 1 {
		pieces = append(pieces, store32(int64(4+8*i), i32(1))...)
	}
	b := &builder{}
	write := b.fromHost(wasiModule, "fd_write", four, valI32)
	got := b.job(pieces, drop(invokes(write, 1, 0, maxBuffers+1, 1<<15)), load32(1<<15))
	if out := runOnce(t, got, job.Call{}); out.Code != maxBuffers {
		t.Errorf("fd_write: %d (%s)", out.Code, out.Error)
	}
}

// cancelling cancels the run when it logs.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Enabled(context.Context, slog.Level) bool { return true }

func (c cancelling) Handle(context.Context, slog.Record) error { c.cancel(); return nil }

func (c cancelling) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c cancelling) WithGroup(string) slog.Handler { return c }

// A guest yields after a million steps, and each step may be a slow call. So host calls
// of an ended run also end the guest.
func TestHostCallsEndWithTheRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"log_level", "sched_yield", "seed"} {
		b := &builder{}
		say := b.abi(abi.FuncLog)
		var next []byte
		switch name {
		case "log_level":
			next = call(b.abi(abi.FuncLogLevel))
		case "seed":
			next = append(drop(call(b.fromHost(envModule, "seed", "", valF64))), i32(0)...)
		default:
			next = call(b.fromHost(wasiModule, name, "", valI32))
		}
		wasm := b.job(i32(2), i32(0), i32(1), call(say), next, op(opDrop), i32(0))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := job.Call{Log: slog.New(cancelling{cancel})}
		e := newEngine(t)
		if out := e.Run(ctx, load(t, e, wasm), c); out.Verdict != job.Stopped {
			t.Errorf("%s: %s (%s)", name, out.Verdict, out.Error)
		}
	}
}
