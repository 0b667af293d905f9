package meter

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Version changes whenever the output or the fuel of a module may change. It must be
// part of every key of a cache or a pool.
const Version = 5

// Names shared by a rewritten module and its host. A module with an import or export
// that begins with Reserved is refused.
const (
	Reserved     = "wasmjob_fuel"
	ImportModule = Reserved
	ImportYield  = "yield"             // (i64 balance, below zero) -> (i64 next balance)
	ExportLeft   = Reserved + "_left"  // variable i64: the balance
	ExportStart  = Reserved + "_start" // () -> (): the start function, if there is one
)

// DefaultTable is the value for Options.MaxTable 0.
const DefaultTable = 100_000

// The output has at most Growth times the bytes of the input plus GrowthFloor.
const (
	Growth      = 10
	GrowthFloor = 256 << 10
)

var (
	// ErrReserved reports a module with a name that begins with Reserved.
	ErrReserved = errors.New("reserved name")
	// ErrMemory reports that metering takes more than Options.MaxMemory.
	ErrMemory = errors.New("metering the module takes too much memory")
)

// Options are the settings of Rewrite.
type Options struct {
	// MaxTable is the maximum number of entries that a table may grow to: beyond it
	// table.grow returns -1. 0 means DefaultTable.
	MaxTable uint32
	// MaxMemory is how many bytes of lists and code Rewrite may keep at a time. The room
	// that they have for more comes on top, up to the same again. 0 means no limit.
	MaxMemory uint64
}

// Result is a rewritten module.
type Result struct {
	Wasm    []byte
	Start   bool     // there is a start function, exported as ExportStart
	Dropped []string // names of dropped custom sections
}

// Rewrite returns a module that does the same as m and pays while it runs. The input
// must be valid but need not have been validated: for an invalid module Rewrite
// returns an error, or an output that no engine accepts. Equal inputs give equal
// outputs. An error is ErrReserved, ErrMemory or a *wasm.Fault, for invalid code or an
// exceeded limit.
func Rewrite(m *wasm.Module, o Options) (Result, error) {
	return rewrite(m, o, gathered)
}

// mode is the granularity of payments. Only gathered is used outside tests.
type mode int

const (
	gathered       mode = iota // small segments are paid with those that lead to them
	separate                   // each segment pays for itself
	perInstruction             // each instruction pays for itself
)

// newModule returns a module to rewrite, of which nothing is rewritten yet.
func newModule(in *wasm.Module, o Options, how mode) *module {
	return &module{
		Module: in, maxTable: cmp.Or(o.MaxTable, DefaultTable), maxMemory: cmp.Or(o.MaxMemory, math.MaxUint64), mode: how,
		helperOf: map[bulkOp]uint32{}, payWrapperOf: map[uint32]uint32{}, globalOf: map[uint32]int{},
	}
}

// rewrite is Rewrite with a granularity of payments.
func rewrite(in *wasm.Module, o Options, how mode) (Result, error) {
	m := newModule(in, o, how)
	if err := m.rewrite(); err != nil {
		return Result{}, err
	}
	out := m.assemble()
	if len(out) > Growth*m.Size+GrowthFloor {
		return Result{}, &wasm.Fault{Kind: wasm.TooBig, What: fmt.Sprintf("%d bytes would become %d when metered", m.Size, len(out))}
	}
	return Result{Wasm: out, Start: m.Start != nil, Dropped: m.dropped}, nil
}

// Tally is the host's account of one instance. The zero Tally is for a new instance.
type Tally struct{ used, given int64 }

// SettleBalance takes the guest's balance and returns the fuel that the instance has
// used.
func (t *Tally) SettleBalance(left int64) int64 {
	t.used += t.given - left
	t.given = left
	return t.used
}

// GrantSlice records that slice becomes the guest's balance, and returns it. A
// negative slice would make the guest yield again immediately, forever. Call
// SettleBalance first, otherwise the fuel used since then is lost.
func (t *Tally) GrantSlice(slice int64) int64 {
	t.given = slice
	return slice
}
