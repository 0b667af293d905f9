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
	codeFunc     = 200 // a function: begin and end
	codeType     = 200 // the way into functions of a type
	codePart     = 8   // a part: the jump to it
	codeReturn   = 140 // a return, which restores registers
	codeTrap     = 48
	codeTarget   = 24 // a target of br_table
	codeStore    = 10 // a value that is kept in memory until it is needed
	codeMove     = 14 // a number that a call moves, in and out of memory
	codeMoveWide = 20 // a floating point number or vector so moved
	codeKept     = 10 // a value that comes into a part in another register
	codeLoop     = 48 // a value that goes round a loop, or along with a jump
	codeLoopInt  = 28
	registers    = 29 // that hold values
)

// Bytes of memory of what a module declares, decoded here and by the
// engine. What the compiler needs for a function stands in effort.go.
const (
	memoryOfAny     = 1 << 20
	memoryOfType    = 1300
	memoryOfFunc    = 350
	memoryOfGlobal  = 500
	memoryOfElement = 80
	memoryOfEntry   = 100 // an export, import or segment
	memoryOfName    = 40  // a byte of the section of names
	copiesOfBinary  = 2
	copiesOfCode    = 2 // of the machine code
	copiesOfTypes   = 3 // of that of types, which grows by doubling
)

// maxMachineCode bounds the machine code of a module and maxMachineCodeFunc
// that of one function, before they are compiled by the estimate, and before
// they run by what came out. RATIONALE says why.
const (
	maxMachineCode     = 512 << 20
	maxMachineCodeFunc = 16 << 20
)

// emit adds machine code.
func (w *costWalk) emit(bytes int) {
	if !w.dead {
		w.codeBytes += bytes
	}
}

// emitInstruction adds the machine code of an instruction beside the values that its type
// says, and of keeping the value that was made before it, unless it takes that.
func (w *costWalk) emitInstruction() {
	if w.dead {
		return
	}
	w.codeBytes += int(machineCode[w.Op])
	takes, leaves := w.Op.StackEffect()
	if makesNoValue[w.Op] {
		return
	}
	if w.freshHeight > 0 && w.freshHeight <= w.height-takes {
		w.codeBytes += codeStore
	}
	if w.freshHeight = 0; leaves > 0 {
		w.freshHeight = w.height - takes + 1
	}
}

// makesNoValue are instructions that make nothing which could be in the way: nop,
// drop, constants, and what only says which value is meant.
var makesNoValue = [wasm.Ops]bool{ // read only
	0x01: true, wasm.OpBlock: true, 0x1a: true, wasm.OpLocalGet: true, 0x41: true, 0x42: true, 0x43: true, 0x44: true,
}

// passBytes is the machine code that takes a local along with a jump.
func passBytes(kind byte) int {
	if kind == wasm.I32 || kind == wasm.I64 || wasm.IsReference(kind) {
		return codeMove
	}
	return codeMoveWide
}

// loopPassBytes is the same for a jump to the begin of a loop.
func loopPassBytes(kind byte) int {
	if kind == wasm.I32 || kind == wasm.I64 || wasm.IsReference(kind) {
		return codeLoopInt
	}
	return codeLoop
}

// signatureBytes is the machine code that moves parameters and results, on one side.
func signatureBytes(t wasm.FuncType) int {
	n := 0
	for _, values := range [...]string{t.Params, t.Results} {
		for i := range len(values) {
			n += passBytes(values[i])
		}
	}
	return n
}

// totalMemory is how many bytes compiling takes in all: the original, of the given
// size, what is compiled, what the compiler holds, and the result.
func (p *compileCost) totalMemory(original int) uint64 {
	names := 0
	for _, c := range p.Customs {
		names += len(c.Body)
	}
	return memoryOfAny + uint64(original) + copiesOfBinary*uint64(p.Size) + memoryOfName*uint64(names) +
		memoryOfType*uint64(len(p.Types)) + memoryOfFunc*uint64(len(p.Funcs)) + memoryOfGlobal*uint64(p.Globals) +
		memoryOfElement*uint64(p.Entries) + memoryOfEntry*uint64(len(p.Imports)+len(p.Exports)+p.Segments) +
		copiesOfCode*p.machineCode + (copiesOfTypes-copiesOfCode)*p.preambleBytes() + p.maxFuncMemory
}

// preambleBytes is the machine code that leads from the host into functions, which
// each type has.
func (p *compileCost) preambleBytes() (bytes uint64) {
	for _, t := range p.Types {
		bytes += codeType + uint64(signatureBytes(t))
	}
	return bytes
}

func (p *compileCost) addTypes() error {
	if p.machineCode = p.preambleBytes(); p.machineCode > maxMachineCode {
		return &wasm.Fault{Kind: wasm.TooBig, What: fmt.Sprintf("the types would become %d bytes of machine code; the limit is %d", p.machineCode, maxMachineCode)}
	}
	return nil
}

// addBody adds what the function that was passed over takes.
func (p *compileCost) addBody(w *costWalk, body int) {
	w.codeBytes += codeFunc + signatureBytes(p.Types[p.Funcs[p.Imported+body]])
	if w.codeBytes > maxMachineCodeFunc {
		w.Fail(wasm.TooBig, "it would become %d bytes of machine code; the limit is %d", w.codeBytes, maxMachineCodeFunc)
	}
	p.machineCode += uint64(w.codeBytes)
	p.maxFuncMemory = max(p.maxFuncMemory, uint64(w.load))
	if p.machineCode > maxMachineCode {
		w.Fail(wasm.TooBig, "the functions up to this one would become %d bytes of machine code; the limit is %d", p.machineCode, maxMachineCode)
	}
}
