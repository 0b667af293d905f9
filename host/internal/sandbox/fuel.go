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

// How a guest is ended from outside; a panic with one of these unwinds it.
var (
	errFuel     = errors.New("the fuel is used up")
	errRunEnded = errors.New("the run is over")
)

// A guest reports about once in this time. Until then neither another
// goroutine nor a collection of garbage gets the guest's processor.
const betweenYields = 100 * time.Microsecond

// Fuel between two reports: what fits the time depends on the machine and on
// what the guest does, so it is found out as the guest goes.
const (
	firstSlice = 50_000
	minSlice   = 1_000
	maxSlice   = 1_000_000
)

// fuelGauge is the host's side of metering, for one run: it counts the fuel and
// ends the guest when that, or its time, is up.
type fuelGauge struct {
	tally   meter.Tally
	limit   int64     // of fuel; 0: none
	end     time.Time // when the guest is ended; zero: never
	slice   int64
	resumed time.Time // when the guest last got its balance
}

// nextBalance gives the guest its next balance, or does not return.
func (g *fuelGauge) nextBalance(ctx context.Context, left int64) int64 {
	ran := time.Since(g.resumed)
	used := g.tally.SettleBalance(left)
	if g.limit > 0 && used > g.limit {
		panic(errFuel)
	}
	if g.slice > 0 { // it has run already
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

// overdrawn says whether a call that has returned used more than there was:
// what it did last it may not have reported.
func (g *fuelGauge) overdrawn(left int64) bool {
	return g.limit > 0 && g.tally.SettleBalance(left) > g.limit
}

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

// exportYield puts what metered code reports to into the runtime. No guest can
// import it by itself, as the meter refuses its name.
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
		return fmt.Errorf("offer %s: %w", meter.ImportModule, err)
	}
	return nil
}

// meterModule gives the code that the engine may see.
func meterModule(m *wasm.Module) (meter.Result, error) {
	out, err := meter.Rewrite(m, meter.Options{MaxTable: maxTableGrowth})
	if err != nil {
		return meter.Result{}, refusalOf(err)
	}
	return out, nil
}
