package sandbox

import "github.com/wasmjob/wasmjob/host/internal/wasm"

// checkCode adds up what compiling all functions takes, beside what is linear
// in their size.
func (a *anatomy) checkCode() error {
	w := walk{a: a}
	effort, locals := 0, 0
	most := effortAll + effortOfByte*len(a.Sections[wasm.SectionCode].Body)
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
		if effort += nsFunc + w.effort + nsByte*w.load; effort > most {
			w.Fail(wasm.TooBig, "the functions up to this one would take too long to compile")
		}
		if err := w.Err(); err != nil {
			return err // which says where
		}
	}
	return nil
}

var burdens = allBurdens() // read only

// allBurdens says how many bytes the compiler needs for an instruction.
func allBurdens() (of [wasm.Ops]int) {
	for o := range wasm.Op(wasm.Ops) {
		of[o] = bytesPlain
		switch {
		case o.Access():
			of[o] += bytesAccess
		case o.Ranged(): // in metered code, a call
			of[o] += bytesCall
		}
	}
	for _, traps := range [...][2]wasm.Op{
		{wasm.OpTableGet, wasm.OpTableSet},
		{0x6d, 0x70}, {0x7f, 0x82}, // dividing
		{0xa8, 0xab}, {0xae, 0xb1}, {0x100, 0x107}, // cutting off to a whole number
	} {
		for o := traps[0]; o <= traps[1]; o++ {
			of[o] += bytesTrap
		}
	}
	of[wasm.OpRefFunc] += bytesCall
	of[wasm.OpCall] += bytesCall
	of[wasm.OpCallIndirect] += bytesCallIndirect
	return of
}

func (w *walk) step() {
	w.cost(0, burdens[w.Op])
	w.native += codeOf(w.Op)
	switch w.Op {
	case wasm.OpUnreachable, wasm.OpReturn:
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
		for _, label := range w.Labels {
			w.jump(label)
		}
		w.stop()
	case wasm.OpCall:
		w.call(w.a.Types[w.a.Funcs[w.A]])
	case wasm.OpCallIndirect:
		w.move(1, 0)
		w.call(w.a.Types[w.A])
	case wasm.OpLocalGet:
		w.use(w.A)
		w.move(0, 1)
	case wasm.OpLocalSet:
		w.set(w.A)
		w.move(1, 0)
	case wasm.OpLocalTee:
		w.set(w.A)
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
		if w.Op == wasm.OpTableGrow {
			w.a.grows[w.A] = true
		}
	}
	w.move(takes, leaves)
}

// call is a call with what it moves: two bytes of code can move a thousand values.
func (w *walk) call(t wasm.FuncType) {
	w.pass(len(t.Params) + len(t.Results))
	w.move(len(t.Params), len(t.Results))
}

func (w *walk) pass(values int) {
	w.passed += values
	if w.passed > maxPassed {
		w.Fail(wasm.TooBig, "the calls of one function pass more than %d values", maxPassed)
	}
}
