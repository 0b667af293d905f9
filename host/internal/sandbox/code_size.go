package sandbox

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Size of the machine code that the engine generates. The engine does not limit it,
// and on amd64 it truncates the distance of a call to 32 bits, so the size is limited
// here before the module is compiled.
//
// The figures are measured bytes of machine code on amd64, for the worst surrounding
// code: operands are loaded from memory and results are stored there. The figures of
// instructions are in code_prices.go.
const (
	codeFunc     = 200 // prologue and epilogue of a function
	codeType     = 200 // entry preamble of a function type
	codePart     = 8   // the jump to a part
	codeReturn   = 140 // a return, which restores registers
	codeTrap     = 48
	codeTarget   = 24 // a target of br_table
	codeStore    = 10 // spilling a value
	codeMove     = 14 // passing an integer with a call, through memory
	codeMoveWide = 20 // passing a floating point number or a vector
	codeKept     = 10 // a value that a part expects in another register
	codeLoop     = 48 // a value passed by a jump, or to the begin of a loop
	codeLoopInt  = 28
	registers    = 29 // registers for values
)

// Bytes of memory for the declarations of a module, decoded here and by the engine.
// The memory for compiling a function is in effort.go.
const (
	memoryOfAny     = 1 << 20
	memoryOfType    = 1300
	memoryOfFunc    = 350
	memoryOfGlobal  = 500
	memoryOfElement = 80
	memoryOfEntry   = 100 // per export, import or segment
	memoryOfName    = 40  // per byte of the name section
	copiesOfBinary  = 2
	copiesOfCode    = 2 // of the machine code
	copiesOfTypes   = 3 // of the preambles, whose buffer grows by doubling
)

// maxMachineCode limits the machine code of a module, and maxMachineCodeFunc that of
// one function. Estimates are checked before compiling, and the real size before the
// code runs. RATIONALE explains the values.
const (
	maxMachineCode     = 512 << 20
	maxMachineCodeFunc = 16 << 20
)

// emit adds bytes of machine code.
func (w *costWalk) emit(bytes int) {
	if !w.dead {
		w.codeBytes += bytes
	}
}

// emitInstruction adds the machine code of an instruction. It also adds the spilling
// of the previous value unless the instruction consumes it.
func (w *costWalk) emitInstruction() {
	if w.dead {
		return
	}
	w.codeBytes += int(machineCode[w.Op])
	takes, leaves := w.Op.StackEffect()
	if makesNoValue[w.Op] {
		return
	}
	if w.freshHeight > 0 && w.freshHeight <= w.height-takes { // the previous value stays on the stack
		w.codeBytes += codeStore
	}
	if w.freshHeight = 0; leaves > 0 {
		w.freshHeight = w.height - takes + 1
	}
}

// makesNoValue are instructions that produce no value that could need spilling: nop,
// drop, constants, block, and local.get.
var makesNoValue = [wasm.Ops]bool{ // read only
	0x01: true, wasm.OpBlock: true, 0x1a: true, wasm.OpLocalGet: true, 0x41: true, 0x42: true, 0x43: true, 0x44: true,
}

// passBytes returns the machine code for passing a local with a jump.
func passBytes(kind byte) int { return byWidth(kind, codeMove, codeMoveWide) }

// loopPassBytes returns the machine code for passing a local to the begin of a loop.
func loopPassBytes(kind byte) int { return byWidth(kind, codeLoopInt, codeLoop) }

// byWidth chooses between the figures of integers and of wider values.
func byWidth(kind byte, integer, wide int) int {
	if kind == wasm.I32 || kind == wasm.I64 || wasm.IsReference(kind) {
		return integer
	}
	return wide
}

// signatureBytes returns the machine code for passing parameters and results, on one
// side of a call.
func signatureBytes(t wasm.FuncType) int {
	n := 0
	for _, values := range [...]string{t.Params, t.Results} {
		for i := range len(values) {
			n += passBytes(values[i])
		}
	}
	return n
}

// totalMemory returns the memory that compiling takes: the original module of the
// given size, the metered module, the compiler's data, and the result.
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

// preambleBytes returns the size of the entry preambles, one for each function type.
func (p *compileCost) preambleBytes() (bytes uint64) {
	for _, t := range p.Types {
		bytes += codeType + uint64(signatureBytes(t))
	}
	return bytes
}

// addTypes begins the machine code with the entry preambles of all function types, and
// refuses a module with too many.
func (p *compileCost) addTypes() error {
	if p.machineCode = p.preambleBytes(); p.machineCode > maxMachineCode {
		return &wasm.Fault{Kind: wasm.TooBig, What: fmt.Sprintf("the types would become %d bytes of machine code; the limit is %d", p.machineCode, maxMachineCode)}
	}
	return nil
}

// addBody adds the cost of a function that w has walked through, and bounds the machine
// code of the function and of all so far. body is its index among the functions with a
// body.
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
