package sandbox

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Bounds of modules, besides those of package wasm.
const (
	defaultModule  = 64 << 20   // bytes of a module
	maxTable       = 500_000    // entries of all tables of an instance
	maxTableGrowth = 100_000    // entries of a table that grows
	maxPassed      = 2_000_000  // parameters and results of all calls in one function
	maxLocalsAll   = 10_000_000 // locals of all functions
	pageSize       = 64 << 10
)

// decodedModule is a decoded module with the facts that its checks need.
type decodedModule struct {
	*wasm.Module
	metered meter.Result // the code that the engine compiles; set by checkBounds, like cost
	cost    *compileCost
}

// decode decodes a module of bounded size.
func decode(binary []byte, limit int64) (m *wasm.Module, err error) {
	defer refusePanic(&err)
	if int64(len(binary)) > limit {
		return nil, &Refusal{
			Reason: TooBig, Problem: fmt.Sprintf("the module has %d bytes; the limit is %d", len(binary), limit),
			Hint: "strip debug information, or raise the limit",
		}
	}
	if m, err = wasm.Decode(binary); err != nil {
		return nil, refusalOf(err)
	}
	return m, nil
}

// checkBounds meters the module, and bounds its locals, its tables and the cost of
// compiling it. The engine validates the code later, and may then allocate what the
// counts of the module say. The error is meter.ErrMemory if metering takes more than memory bytes, and
// else a *Refusal.
func (m *decodedModule) checkBounds(memory uint64) (err error) {
	defer refusePanic(&err)
	if err := m.checkLocals(); err != nil {
		return refusalOf(err)
	}
	if m.metered, err = meterModule(m.Module, memory); err != nil {
		return err
	}
	if m.cost, err = estimateCost(m.metered.Wasm, m.Imported); err != nil {
		return refusalOf(err)
	}
	entries := 0
	for i := range m.Tables {
		if entries += m.maxTableEntries(i); entries > maxTable {
			return &Refusal{
				Reason: TooBig, Problem: fmt.Sprintf("tables of more than %d entries in total", maxTable),
				Hint: "declare smaller ones, and a maximum for those that grow",
			}
		}
	}
	return nil
}

// checkLocals limits the locals of all functions before any memory is allocated for
// them: a few bytes can declare thousands.
func (m *decodedModule) checkLocals() error {
	var c wasm.Code
	locals := 0
	for i := range m.Bodies {
		c.BeginBody(m.Module, i)
		if locals += c.Locals; locals > maxLocalsAll {
			c.Fail(wasm.TooBig, "more than %d locals in all functions", maxLocalsAll)
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// maxTableEntries returns how many entries a table can have. One that no instruction grows
// keeps its initial size.
func (m *decodedModule) maxTableEntries(i int) int {
	t := m.Tables[i]
	if m.cost.growsTable[i] {
		return int(max(t.Min, min(t.Max, maxTableGrowth)))
	}
	return int(t.Min)
}

// refusalOf converts an error of package wasm or meter to a Refusal.
func refusalOf(err error) error {
	r := &Refusal{Reason: Damaged, Problem: readable(err.Error(), 512)}
	if f, ok := errors.AsType[*wasm.Fault](err); ok {
		r.Reason = Reason(f.Kind)
	}
	return withHint(r)
}

const hostFault = "this is a fault of the host; please report it with the module"

// refusePanic is deferred and converts a panic to a refusal: decoding untrusted
// input must not end the host.
func refusePanic(err *error) {
	if p := recover(); p != nil {
		*err = &Refusal{
			Reason: Damaged, Problem: fmt.Sprintf("the host failed to read the module: %v", p),
			Hint: hostFault,
		}
	}
}
