package sandbox

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// compileCost is the estimated cost of compiling a metered module.
type compileCost struct {
	*wasm.Module

	growsTable    [wasm.MaxTables]bool // tables that an instruction grows
	machineCode   uint64               // bytes of all functions and of their entry preambles
	maxFuncMemory uint64               // most bytes of memory that the compiler needs for one function
}

// estimateCost adds up the cost of compiling all functions, and fails if the compilation
// would take too long. Errors name a function by its index in the module before metering,
// in which first is the index of the first function with a body.
func estimateCost(metered []byte, first int) (*compileCost, error) {
	m, err := wasm.DecodeMetered(metered)
	if err != nil {
		return nil, err
	}
	cost := &compileCost{Module: m}
	if err := cost.addTypes(); err != nil {
		return nil, err
	}
	w := costWalk{cost: cost}
	effort := 0
	limit := effortAll + effortOfByte*len(m.Sections[wasm.SectionCode].Body)
	for i := range m.Bodies {
		w.beginFunction(i)
		for w.Next() {
			w.instruction()
		}
		w.endFunction()
		cost.addBody(&w, i)
		if effort += nsFunc + w.effort + nsCode*w.codeBytes; effort > limit {
			w.Fail(wasm.TooBig, "the functions up to this one would take too long to compile")
		}
		if err := w.Err(); err != nil {
			if f, ok := errors.AsType[*wasm.Fault](err); ok {
				f.Where = fmt.Sprintf("function %d", first+i)
			}
			return nil, err
		}
	}
	return cost, nil
}

// instruction adds the cost of the current instruction, and follows its effect on the
// stack, the locals and the flow.
func (w *costWalk) instruction() {
	w.addCost(0, int(compilerMemory[w.Op]))
	w.emitInstruction()
	switch w.Op {
	case wasm.OpReturn:
		w.emit(codeReturn)
		w.passValues(w.blocks[0].results, codeMoveWide)
		w.endReachable()
	case wasm.OpUnreachable:
		w.emit(codeTrap)
		w.endReachable()
	case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
		w.enterBlock()
	case wasm.OpElse:
		w.enterElse()
	case wasm.OpEnd:
		w.leaveBlock()
	case wasm.OpBr:
		w.recordJump(w.A)
		w.endReachable()
	case wasm.OpBrIf:
		w.moveStack(1, 0)
		w.recordJump(w.A)
		w.newPart()
	case wasm.OpBrTable:
		w.moveStack(1, 0)
		n := len(w.Labels)
		w.addCost(n*nsTarget+n*n/perTargets, n*bytesTarget)
		w.emit(n * codeTarget)
		w.part += n
		w.targets += n
		for _, label := range w.Labels {
			w.recordJump(label)
		}
		w.endReachable()
	case wasm.OpCall:
		w.countCall(w.cost.Types[w.cost.Funcs[w.A]])
	case wasm.OpCallIndirect:
		w.moveStack(1, 0)
		w.countCall(w.cost.Types[w.A])
	case wasm.OpLocalGet:
		w.readLocal(w.A)
		w.moveStack(0, 1)
	case wasm.OpLocalSet:
		w.setLocal(w.A)
		w.emit(codeStore)
		w.moveStack(1, 0)
	case wasm.OpLocalTee:
		w.setLocal(w.A)
		w.emit(codeStore)
	default:
		w.plainInstruction()
	}
}

// plainInstruction handles an instruction that only pops values from the stack and
// pushes others.
func (w *costWalk) plainInstruction() {
	takes, leaves := w.Op.StackEffect()
	switch {
	case w.Op.AccessesMemory():
		w.knownAddresses++ // the compiler checks the address, and remembers that
	case w.Op.IsBulk():
		w.countPassed(takes + leaves)
		w.reloadGlobals()
	}
	w.moveStack(takes, leaves)
	switch w.Op {
	case wasm.OpTableGrow:
		w.cost.growsTable[w.A] = true
	case wasm.OpMemoryFill, wasm.OpTableFill: // compiled to a loop, which has three parts
		w.flowIntoPart()
		w.flowIntoPart()
		w.flowIntoPart()
	default:
	}
}

// countCall adds the cost of a call and of the values that it passes. A call of two
// bytes can pass a thousand values.
func (w *costWalk) countCall(t wasm.FuncType) {
	w.countPassed(len(t.Params) + len(t.Results))
	w.reloadGlobals()
	w.emit(signatureBytes(t))
	w.addCost(0, bytesParam*len(t.Params)+bytesResult*len(t.Results))
	w.moveStack(len(t.Params), len(t.Results))
}

// countPassed limits the values that calls and bulk instructions of one function pass.
func (w *costWalk) countPassed(values int) {
	w.passed += values
	if w.passed > maxPassed {
		w.Fail(wasm.TooBig, "the calls in one function pass more than %d values", maxPassed)
	}
}
