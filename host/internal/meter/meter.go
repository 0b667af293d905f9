package meter

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Version changes whenever the same module and input may give another output
// or another number of fuel: it belongs into every key of a cache or a pool.
const Version = 4

// The names by which a rewritten module and its host meet. A module that
// imports or exports anything beginning with Reserved is refused.
const (
	Reserved     = "wasmjob_fuel"
	ImportModule = Reserved
	ImportYield  = "yield"             // (i64 balance, below zero) -> (i64 next balance)
	ExportLeft   = Reserved + "_left"  // variable i64: the balance
	ExportStart  = Reserved + "_start" // () -> (): the start function, if there is one
)

// DefaultTable is what Options.MaxTable means by 0.
const DefaultTable = 100_000

// The output is at most Growth times as long as the input, and GrowthFloor
// bytes more.
const (
	Growth      = 10
	GrowthFloor = 256 << 10
)

// ErrReserved is the error for a module that uses a name that begins with
// Reserved.
var ErrReserved = errors.New("reserved name")

// Options say how to rewrite.
type Options struct {
	// MaxTable is how many entries a table may grow to: table.grow beyond
	// gives -1. 0: DefaultTable.
	MaxTable uint32
}

// Result is a rewritten module.
type Result struct {
	Wasm    []byte
	Start   bool     // there is a start function, to be called as ExportStart
	Dropped []string // custom sections left out
}

// Rewrite gives a module that does the same as the given one and pays as it
// runs. The input must be valid but need not have been validated: of an
// invalid one comes an error or an output that no engine takes. Equal input
// gives equal output. Errors are ErrReserved or a *wasm.Fault: what is wrong
// with the code, or beyond a bound of this package.
func Rewrite(m *wasm.Module, o Options) (Result, error) {
	return rewrite(m, o, gathered)
}

// mode says how finely is paid; all but the first are for tests.
type mode int

const (
	gathered       mode = iota // small segments with those that lead to them
	separate                   // each segment for itself
	perInstruction             // each instruction for itself
)

func newModule(in *wasm.Module, o Options, how mode) *module {
	if o.MaxTable == 0 {
		o.MaxTable = DefaultTable
	}
	return &module{
		Module: in, maxTable: o.MaxTable, mode: how,
		helperOf: map[bulkOp]uint32{}, payWrapperOf: map[uint32]uint32{}, globalOf: map[uint32]int{},
	}
}

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

// Tally is the host's side of the account of one instance. The zero Tally
// fits a fresh instance.
type Tally struct{ used, given int64 }

// SettleBalance takes the balance of the guest and gives the fuel used since the
// instance began.
func (t *Tally) SettleBalance(left int64) int64 {
	t.used += t.given - left
	t.given = left
	return t.used
}

// GrantSlice notes that slice becomes the balance of the guest, and gives it back.
// Below zero it would be asked for again at once, without end. Settle comes
// first, or what was used since is lost.
func (t *Tally) GrantSlice(slice int64) int64 {
	t.given = slice
	return slice
}
