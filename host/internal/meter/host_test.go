package meter

import (
	"context"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// meters is the host's part of metering: a tally for each instance of a runtime.
type meters struct {
	mu         sync.Mutex
	slice      int64
	limit      int64 // of fuel; 0 means none
	yields     int   // calls of yield
	maxBetween int64 // most fuel between two yields
	tally      map[api.Module]*Tally
	last       *Tally
}

type outOfFuel struct{}

func (outOfFuel) Error() string { return "out of fuel" }

func newMeters(t testing.TB, rt wazero.Runtime, slice int64) *meters {
	t.Helper()
	m := &meters{slice: slice, tally: map[api.Module]*Tally{}}
	_, err := rt.NewHostModuleBuilder(ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(m.yield), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(ImportYield).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *meters) yield(_ context.Context, mod api.Module, stack []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	y := m.tally[mod]
	if y == nil {
		y = &Tally{}
		m.tally[mod] = y
	}
	m.yields++
	m.last = y
	m.maxBetween = max(m.maxBetween, y.given-int64(stack[0]))
	if used := y.SettleBalance(int64(stack[0])); m.limit > 0 && used > m.limit {
		panic(outOfFuel{})
	}
	stack[0] = uint64(y.GrantSlice(m.slice))
}

// used returns the fuel that an instance has used.
func (m *meters) used(mod api.Module) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	y := m.tally[mod]
	if y == nil { // it has not yielded
		y = &Tally{}
	}
	return y.SettleBalance(int64(mod.ExportedGlobal(ExportLeft).Get()))
}

// setGlobal sets the balance of an instance before a call.
func setGlobal(mod api.Module, balance int64) {
	mod.ExportedGlobal(ExportLeft).(api.MutableGlobal).Set(uint64(balance))
}
