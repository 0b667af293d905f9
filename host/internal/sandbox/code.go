package sandbox

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// price is what compiling a module takes, as the engine gets it: metered.
type price struct {
	*wasm.Module

	grows       [wasm.MaxTables]bool // tables that an instruction grows
	machineCode uint64               // bytes of all functions, and of the ways into them
	heaviest    uint64               // bytes that the compiler needs for one function, at most
}

// priced adds up what compiling all functions takes. first is the index that
// the first of them had before metering.
func priced(metered []byte, first int) (*price, error) {
	m, err := wasm.DecodeMetered(metered)
	if err != nil {
		return nil, err
	}
	p := &price{Module: m}
	if err := p.priceTypes(); err != nil {
		return nil, err
	}
	w := walk{p: p}
	effort := 0
	most := effortAll + effortOfByte*len(m.Sections[wasm.SectionCode].Body)
	for i := range m.Bodies {
		w.begin(i)
		for w.Next() {
			w.step()
		}
		w.end()
		p.priceBody(&w, i)
		if effort += nsFunc + w.effort + nsCode*w.native; effort > most {
			w.Fail(wasm.TooBig, "the functions up to this one would take too long to compile")
		}
		if err := w.Err(); err != nil {
			if f, ok := errors.AsType[*wasm.Fault](err); ok {
				f.Where = fmt.Sprintf("function %d", first+i)
			}
			return nil, err
		}
	}
	return p, nil
}

func (w *walk) step() {
	w.cost(0, int(compilerMemory[w.Op]))
	w.made()
	switch w.Op {
	case wasm.OpReturn:
		w.emit(codeReturn)
		w.arrive(w.blocks[0].results, codeMoveWide)
		w.stop()
	case wasm.OpUnreachable:
		w.emit(codeTrap)
		w.stop()
	case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
		w.enter()
	case wasm.OpElse:
		w.otherwise()
	case wasm.OpEnd:
		w.leave()
	case wasm.OpBr:
		w.jump(w.A)
		w.stop()
	case wasm.OpBrIf:
		w.move(1, 0)
		w.jump(w.A)
		w.split()
	case wasm.OpBrTable:
		w.move(1, 0)
		n := len(w.Labels)
		w.cost(n*nsTarget+n*n/perTargets, n*bytesTarget)
		w.emit(n * codeTarget)
		w.part += n
		w.targets += n
		for _, label := range w.Labels {
			w.jump(label)
		}
		w.stop()
	case wasm.OpCall:
		w.call(w.p.Types[w.p.Funcs[w.A]])
	case wasm.OpCallIndirect:
		w.move(1, 0)
		w.call(w.p.Types[w.A])
	case wasm.OpLocalGet:
		w.use(w.A)
		w.move(0, 1)
	case wasm.OpLocalSet:
		w.set(w.A)
		w.emit(codeStore)
		w.move(1, 0)
	case wasm.OpLocalTee:
		w.set(w.A)
		w.emit(codeStore)
	default:
		w.plain()
	}
}

// plain is every instruction that only takes values and gives others.
func (w *walk) plain() {
	takes, leaves := w.Op.StackEffect()
	switch {
	case w.Op.AccessesMemory():
		w.known++
	case w.Op.IsBulk():
		w.pass(takes + leaves)
		w.called()
	}
	w.move(takes, leaves)
	switch w.Op {
	case wasm.OpTableGrow:
		w.p.grows[w.A] = true
	case wasm.OpMemoryFill, wasm.OpTableFill: // has a loop
		w.through()
		w.through()
		w.through()
	default:
	}
}

// call is a call with what it moves: two bytes of code can move a thousand values.
func (w *walk) call(t wasm.FuncType) {
	w.pass(len(t.Params) + len(t.Results))
	w.called()
	w.emit(passing(t))
	w.cost(0, bytesParam*len(t.Params)+bytesResult*len(t.Results))
	w.move(len(t.Params), len(t.Results))
}

func (w *walk) pass(values int) {
	w.passed += values
	if w.passed > maxPassed {
		w.Fail(wasm.TooBig, "the calls of one function pass more than %d values", maxPassed)
	}
}
