package sandbox

import (
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// A waiting guest uses fuel for the requested time: a guest that only sleeps ends like
// any other.
func TestSleepingCostsFuel(t *testing.T) {
	t.Parallel()
	sleeps := func(ms int64, limit int64) job.Outcome {
		b := &builder{}
		f := b.abi(abi.FuncSleep)
		wasm := b.job(i32(ms), call(f), op(opDrop), i32(0))
		return runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: limit}}})
	}
	none := sleeps(0, 0)
	if got := sleeps(5, 0); got.Verdict != job.OK || got.Fuel != none.Fuel+5000 {
		t.Errorf("5 ms cost %d, not 5000: %+v", got.Fuel-none.Fuel, got)
	}
	exact := none.Fuel + 5000
	if got := sleeps(5, exact); got.Verdict != job.OK || got.Fuel != exact {
		t.Errorf("the fuel was enough: %+v", got)
	}
	// These do not wait.
	for _, ms := range []int64{1000 * 3600 * 24, -1} {
		expect(t, sleeps(ms, exact), job.OutOfFuel, "the fuel of")
	}
	if got := sleeps(5, exact-1); got.Verdict != job.OutOfFuel || got.Fuel < exact-1 {
		t.Errorf("the fuel was not enough: %+v", got)
	}
}

// A loop that sleeps a little at a time ends at the same point everywhere.
func TestSleepingForEver(t *testing.T) {
	t.Parallel()
	b := &builder{}
	f := b.abi(abi.FuncSleep)
	wasm := b.job(op(0x03, 0x40), i32(1), call(f), op(opDrop), op(0x0c, 0x00, opEnd, opUnreachable)) // loop, br 0
	first := runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: 20_000}}})
	expect(t, first, job.OutOfFuel, "")
	if second := runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: 20_000}}}); second.Fuel != first.Fuel {
		t.Errorf("%d units, then %d", first.Fuel, second.Fuel)
	}
}

// A WASI sleep that waits costs the same. On a fixed clock it does not wait, and costs
// nothing.
func TestSleepingByWASICostsFuel(t *testing.T) {
	t.Parallel()
	subscription := store32(24, i32(2_000_000)) // 2 ms, relative
	wasm := wasiCall("poll_oneoff", valI32+valI32+valI32+valI32, subscription, i32(0), i32(64), i32(1), i32(128))
	run := func(clock string, limit int64) job.Outcome {
		return runOnce(t, wasm, job.Call{Config: job.Config{Limits: job.Limits{Fuel: limit}, Allow: job.Allow{Clock: clock}}})
	}
	still, moving := run("", 0), run("real", 0)
	if moving.Code != 200 || moving.Fuel != still.Fuel+2000 {
		t.Errorf("%d units, and %d without waiting", moving.Fuel, still.Fuel)
	}
	expect(t, run("real", still.Fuel+1999), job.OutOfFuel, "")
}

// A sleep of a guest that should stop ends at once and costs nothing: the guest may
// repeat it a million times, and the sum would overflow.
func TestASleepThatIsNotSleptCostsNothing(t *testing.T) {
	t.Parallel()
	var b builder
	wasm := func() []byte { sleep := b.abi(abi.FuncSleep); return b.job(drop(invokes(sleep, -1)), i32(0)) }()
	out := runOnce(t, wasm, job.Call{Why: func() job.StopReason { return job.StopShutdown }})
	expect(t, out, job.OK, "")
	if out.Fuel > 1_000 {
		t.Errorf("it cost %d", out.Fuel)
	}
}
