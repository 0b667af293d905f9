package sandbox

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Bounds of what a host takes, beside those of package wasm.
const (
	defaultModule  = 64 << 20   // bytes of a module
	maxTable       = 500_000    // entries of all tables, which each instance has for itself
	maxTableGrowth = 100_000    // entries that a table may grow to
	maxPassed      = 2_000_000  // values that the calls of one function pass and return
	maxLocalsAll   = 10_000_000 // of all functions
	pageSize       = 64 << 10
)

// decodedModule is what a binary is made of, as far as its admission depends on it.
type decodedModule struct {
	*wasm.Module
	metered meter.Result // what the engine compiles; as price, there once it was checked
	cost    *compileCost
}

// decode takes a binary of bounded size apart.
func decode(binary []byte, most int64) (m *wasm.Module, err error) {
	defer refusePanic(&err)
	if int64(len(binary)) > most {
		return nil, &Refusal{
			Reason: TooBig, Problem: fmt.Sprintf("the module has %d bytes; the limit is %d", len(binary), most),
			Hint: "strip debug information, or raise the limit",
		}
	}
	if m, err = wasm.Decode(binary); err != nil {
		return nil, refusalOf(err)
	}
	return m, nil
}

// checkBounds meters the module and holds it against the bounds: what each instance
// would have of tables, and what compiling it would take. Code is not
// validated: that is left to the engine, which may then trust every count.
func (a *decodedModule) checkBounds() (err error) {
	defer refusePanic(&err)
	if err := a.checkLocals(); err != nil {
		return refusalOf(err)
	}
	if a.metered, err = meterModule(a.Module); err != nil {
		return err
	}
	if a.cost, err = estimateCost(a.metered.Wasm, a.Imported); err != nil {
		return refusalOf(err)
	}
	entries := 0
	for i := range a.Tables {
		if entries += a.maxTableEntries(i); entries > maxTable {
			return &Refusal{
				Reason: TooBig, Problem: fmt.Sprintf("tables of more than %d entries in all", maxTable),
				Hint: "declare smaller ones, and a maximum for those that grow",
			}
		}
	}
	return nil
}

// checkLocals bounds the locals of all functions before anybody else makes
// room for them: a few bytes declare thousands.
func (a *decodedModule) checkLocals() error {
	var c wasm.Code
	locals := 0
	for i := range a.Bodies {
		c.BeginBody(a.Module, i)
		if locals += c.Locals; locals > maxLocalsAll {
			c.Fail(wasm.TooBig, "more than %d locals in all functions", maxLocalsAll)
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// maxTableEntries is how many entries a table may come to have.
func (a *decodedModule) maxTableEntries(i int) int {
	t := a.Tables[i]
	if a.cost.growsTable[i] {
		return int(max(t.Min, min(t.Max, maxTableGrowth)))
	}
	return int(t.Min)
}

// refusalOf tells what package wasm or the meter finds wrong as a Refusal.
func refusalOf(err error) error {
	r := &Refusal{Reason: Damaged, Problem: readable(err.Error(), 512)}
	if f, ok := errors.AsType[*wasm.Fault](err); ok {
		r.Reason = Reason(f.Kind)
	}
	return withHint(r)
}

const hostFault = "this is a fault of the host; please report it with the module"

// refusePanic, deferred, makes a refusal of a panic: what reads a stranger's
// module must not end the host, whatever fault it has.
func refusePanic(err *error) {
	if p := recover(); p != nil {
		*err = &Refusal{
			Reason: Damaged, Problem: fmt.Sprintf("the host failed to read the module: %v", p),
			Hint: hostFault,
		}
	}
}
