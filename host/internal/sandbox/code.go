package sandbox

import "github.com/wasmjob/wasmjob/host/internal/wasm"

// checkCode adds up what compiling all functions takes.
func (a *anatomy) checkCode() error {
	w := walk{a: a}
	effort, locals := 0, 0
	most := effortAll + effortOfByte*len(a.Sections[wasm.SectionCode].Body)
	if err := a.priceTypes(); err != nil {
		return err
	}
	for i := range a.Bodies {
		w.begin(i)
		if locals += w.Locals; locals > maxLocalsAll {
			w.Fail(wasm.TooBig, "more than %d locals in all functions", maxLocalsAll)
		}
		for w.Next() {
			w.step()
		}
		w.end()
		a.priceBody(&w, i)
		if effort += nsFunc + w.effort + nsCode*w.native; effort > most {
			w.Fail(wasm.TooBig, "the functions up to this one would take too long to compile")
		}
		if err := w.Err(); err != nil {
			return err // which says where
		}
	}
	// In metered code each function that is referred to is a global.
	if globals := min(a.references, len(a.Funcs)); effort+nsGlobal*globals*len(a.Bodies) > most {
		return &wasm.Fault{Kind: wasm.TooBig, What: "all functions together would take too long to compile"}
	}
	return nil
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
		if int(w.A) < w.a.Imported {
			w.look()
		}
		w.call(w.a.Types[w.a.Funcs[w.A]])
	case wasm.OpCallIndirect:
		w.move(1, 0)
		w.look()
		w.call(w.a.Types[w.A])
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
	case wasm.OpRefFunc:
		w.a.references++
		w.move(0, 1)
	default:
		w.plain()
	}
}

// plain is every instruction that only takes values and gives others.
func (w *walk) plain() {
	takes, leaves := w.Op.Moves()
	switch {
	case w.Op.Access():
		w.known++
	case w.Op.Ranged():
		w.pass(takes + leaves)
		w.called()
		if w.Op == wasm.OpTableGrow {
			w.a.grows[w.A] = true
		}
	}
	w.move(takes, leaves)
}

// call is a call with what it moves: two bytes of code can move a thousand values.
func (w *walk) call(t wasm.FuncType) {
	w.pass(len(t.Params) + len(t.Results))
	w.called()
	w.emit(passing(t))
	w.cost(0, bytesParam*len(t.Params)+bytesResult*len(t.Results))
	w.move(len(t.Params), len(t.Results))
}

// look is what metered code does before a call of the host.
func (w *walk) look() {
	w.looks++
	w.emit(codeLook)
	w.cost(0, bytesLook)
	w.called()
}

func (w *walk) pass(values int) {
	w.passed += values
	if w.passed > maxPassed {
		w.Fail(wasm.TooBig, "the calls of one function pass more than %d values", maxPassed)
	}
}
