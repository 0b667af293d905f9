package sandbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// wasiCall is a guest that calls one function of WASI and returns its errno
// plus 200.
func wasiCall(name, params string, setUp []byte, args ...[]byte) []byte {
	b := &builder{}
	f := b.fromHost(wasiModule, name, params, valI32)
	return b.job(setUp, slices.Concat(args...), call(f), i32(200), op(opI32Add))
}

// The engine would make a list of two thousand million files.
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

// Nothing ever comes on stdin, so waiting for it does not wait.
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

// A sleep of WASI ends with the run, not when the guest wanted.
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

// One call may ask for random numbers in all of the memory.
func TestRandomEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRun(job.Call{}, &compilation{}, time.Now())
	r.ctx = ctx
	d := dice{&instance{r: r}}
	buf := make([]byte, 3*maxDice)
	if n, err := d.Read(buf); n != maxDice || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if _, err := d.Read(buf); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
