package sandbox

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// What the engine makes of code. Nothing in it bounds the machine code of a
// module, and on amd64 it writes the low 32 bits of a call's distance without
// looking at the rest, so that is bounded here before it compiles.
//
// The figures are bytes of machine code on amd64 as measured, for the worst
// that surrounding code can do: operands come from memory and results go there.
// Instructions have theirs in code_prices.go.
const (
	codeFunc     = 200 // a function: begin and end, and its look at the balance
	codeType     = 200 // the way into functions of a type
	codePart     = 40  // a part: the jump to it, and the payment in it
	codeLook     = 64  // a look at the balance
	codeReturn   = 140 // a return, which restores registers
	codeTrap     = 48
	codeTarget   = 24 // a target of br_table
	codeStore    = 10 // a value that is kept in memory until it is needed
	codeMove     = 14 // a number that a call moves, in and out of memory
	codeMoveWide = 20 // a floating point number or vector so moved
	codeKept     = 10 // a value that comes into a part in another register
	codeRound    = 48 // a value that goes round a loop, or along with a jump
	codeRoundInt = 28
	registers    = 29 // that hold values

	bytesPayment = 16 // that metering adds to a part of the binary
	bytesLooking = 48 // and where the balance is looked at
)

// Bytes of memory of what a module declares, decoded and with its copy in the
// binary that is compiled. What the compiler needs for a function stands in
// effort.go.
const (
	memoryOfAny     = 1 << 20
	memoryOfType    = 1300
	memoryOfFunc    = 350
	memoryOfGlobal  = 500
	memoryOfElement = 80
	memoryOfEntry   = 100 // an export, import or segment
	memoryOfName    = 40  // a byte of the section of names
	copiesOfCode    = 2   // of the machine code
	copiesOfTypes   = 3   // of that of types, which grows by doubling
)

// maxMachineCode bounds the machine code of a module and maxMachineCodeFunc
// that of one function, before they are compiled by the estimate, and before
// they run by what came out. RATIONALE says why.
const (
	maxMachineCode     = 512 << 20
	maxMachineCodeFunc = 16 << 20
)

// emit adds machine code.
func (w *walk) emit(bytes int) {
	if !w.dead {
		w.native += bytes
	}
}

// made adds the machine code of an instruction beside the values that its type
// says, and of keeping the value that was made before it, unless it takes that.
func (w *walk) made() {
	if w.dead {
		return
	}
	w.native += int(machineCode[w.Op])
	takes, leaves := w.Op.Moves()
	if silent[w.Op] {
		return
	}
	if w.fresh > 0 && w.fresh <= w.height-takes {
		w.native += codeStore
	}
	if w.fresh = 0; leaves > 0 {
		w.fresh = w.height - takes + 1
	}
}

// silent are instructions that make nothing which could be in the way: nop,
// drop, constants, and what only says which value is meant.
var silent = [wasm.Ops]bool{ // read only
	0x01: true, wasm.OpBlock: true, 0x1a: true, wasm.OpLocalGet: true, 0x41: true, 0x42: true, 0x43: true, 0x44: true,
}

// handing is the machine code that takes a local along with a jump.
func handing(kind byte) int {
	if kind == wasm.I32 || kind == wasm.I64 || wasm.IsReference(kind) {
		return codeMove
	}
	return codeMoveWide
}

// going is the same for a jump to the begin of a loop.
func going(kind byte) int {
	if kind == wasm.I32 || kind == wasm.I64 || wasm.IsReference(kind) {
		return codeRoundInt
	}
	return codeRound
}

// passing is the machine code that moves parameters and results, on one side.
func passing(t wasm.FuncType) int {
	n := 0
	for _, values := range [...]string{t.Params, t.Results} {
		for i := range len(values) {
			n += handing(values[i])
		}
	}
	return n
}

// compileCost says how many bytes of machine code the module becomes, and how
// many bytes of memory compiling takes in all: the binary, its metered copy,
// what the compiler holds, and the result.
func (a *anatomy) compileCost() (machineCode, memory uint64) {
	names := 0
	for _, c := range a.Customs {
		names += len(c.Body)
	}
	memory = memoryOfAny + 3*uint64(a.Size) + 2*a.payments + memoryOfName*uint64(names) +
		memoryOfType*uint64(len(a.Types)) + memoryOfFunc*uint64(len(a.Funcs)) + memoryOfGlobal*uint64(a.Globals) +
		memoryOfElement*uint64(a.Entries) + memoryOfEntry*uint64(len(a.Imports)+len(a.Exports)+a.Segments)
	return a.machineCode, memory + copiesOfCode*a.machineCode + (copiesOfTypes-copiesOfCode)*a.wayIn() + a.heaviest
}

// wayIn is the machine code that leads from the host into functions, which
// each type has.
func (a *anatomy) wayIn() (bytes uint64) {
	for _, t := range a.Types {
		bytes += codeType + uint64(passing(t))
	}
	return bytes
}

func (a *anatomy) priceTypes() error {
	if a.machineCode = a.wayIn(); a.machineCode > maxMachineCode {
		return &wasm.Fault{Kind: wasm.TooBig, What: fmt.Sprintf("the types would become %d bytes of machine code; the limit is %d", a.machineCode, maxMachineCode)}
	}
	return nil
}

// priceBody adds what the function that was passed over takes.
func (a *anatomy) priceBody(w *walk, body int) {
	w.native += codeFunc + passing(a.Types[a.Funcs[a.Imported+body]])
	if w.native > maxMachineCodeFunc {
		w.Fail(wasm.TooBig, "it would become %d bytes of machine code; the limit is %d", w.native, maxMachineCodeFunc)
	}
	a.machineCode += uint64(w.native)
	a.heaviest = max(a.heaviest, uint64(w.load))
	a.payments += uint64(bytesPayment*w.part + bytesLooking*(w.looks+1))
	if a.machineCode > maxMachineCode {
		w.Fail(wasm.TooBig, "the functions up to this one would become %d bytes of machine code; the limit is %d", a.machineCode, maxMachineCode)
	}
}
