package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Errors that end a guest; the host panics with one of them to unwind it.
var (
	errFuel     = errors.New("the fuel is used up")
	errRunEnded = errors.New("the run is over")
)

// betweenYields is about the time between two yields of a guest. In between, neither
// other goroutines nor the garbage collector can use the guest's processor.
const betweenYields = 100 * time.Microsecond

// Fuel between two yields. It depends on the machine and on the code, so it is
// adjusted while the guest runs.
const (
	firstSlice = 50_000
	minSlice   = 1_000
	maxSlice   = 1_000_000
)

// fuelGauge is the host's side of metering for one run. It counts the fuel and ends
// the guest when its fuel or its time is used up.
type fuelGauge struct {
	tally   meter.Tally
	limit   int64     // of fuel; 0: unlimited
	end     time.Time // time at which the guest is ended; zero: never
	slice   int64
	resumed time.Time // time at which the guest got its last balance
}

// nextBalance returns the guest's next balance, or ends the guest. left is its balance
// now, which is below zero.
func (g *fuelGauge) nextBalance(ctx context.Context, left int64) int64 {
	ran := time.Since(g.resumed)
	used := g.tally.SettleBalance(left)
	if g.limit > 0 && used > g.limit {
		panic(errFuel)
	}
	if g.slice > 0 { // not the first call
		runtime.Gosched()
	}
	now := time.Now()
	if ctx.Err() != nil || !g.end.IsZero() && !now.Before(g.end) {
		panic(errRunEnded)
	}
	g.slice = nextSlice(g.slice, ran)
	g.resumed = now
	if g.limit > 0 {
		return g.tally.GrantSlice(min(g.slice, g.limit-used))
	}
	return g.tally.GrantSlice(g.slice)
}

// overdrawn reports whether a completed call used more than its limit. The guest may not
// have yielded after its last payment, so nextBalance has not noticed that.
func (g *fuelGauge) overdrawn(left int64) bool {
	return g.limit > 0 && g.tally.SettleBalance(left) > g.limit
}

// nextSlice adjusts the fuel between two yields: the guest ran that long with slice, and
// should run for about betweenYields.
func nextSlice(slice int64, ran time.Duration) int64 {
	switch {
	case slice == 0:
		return firstSlice
	case ran > 2*betweenYields:
		return max(slice/2, minSlice)
	case ran < betweenYields/2:
		return min(slice*2, maxSlice)
	}
	return slice
}

// exportYield adds the function that metered code calls to the runtime. A guest
// cannot import it directly, because the meter refuses its name.
func exportYield(ctx context.Context, rt wazero.Runtime) error {
	yield := func(ctx context.Context, _ api.Module, stack []uint64) {
		r := runOf(ctx)
		stack[0] = uint64(r.fuelGauge.nextBalance(ctx, int64(stack[0])))
	}
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := rt.NewHostModuleBuilder(meter.ImportModule).
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(yield), i64, i64).Export(meter.ImportYield).
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("export %s: %w", meter.ImportModule, err)
	}
	return nil
}

// meterModule returns the rewritten module that the engine compiles. The error is meter.ErrMemory if
// that takes more than memory bytes, and else a *Refusal.
func meterModule(m *wasm.Module, memory uint64) (meter.Result, error) {
	out, err := meter.Rewrite(m, meter.Options{MaxTable: maxTableGrowth, MaxMemory: memory})
	if errors.Is(err, meter.ErrMemory) {
		return meter.Result{}, err
	}
	if err != nil {
		return meter.Result{}, refusalOf(err)
	}
	return out, nil
}
