package sandbox

import "github.com/wasmjob/wasmjob/host/internal/wasm"

// What the engine makes of code. Nothing in it bounds the machine code of a
// module, and on amd64 it writes the low 32 bits of a call's distance without
// looking at the rest, so that is done here before it compiles.
const (
	codePlain  = 40  // bytes of machine code of an instruction, its operands fetched and its result stored
	codeVector = 120 // of one on vectors
	codeCall   = 160 // of a call, or of what traps
	codePassed = 40  // of a value that a call moves, on both of its sides
	codePart   = 120 // of a part, with what metering adds
	codeFunc   = 400 // of a function, with what metering adds
	codeType   = 300 // of the way into functions of a type

	memoryOfByte = 20 // bytes that decoding and validating take for one of the binary
	memoryOfCode = 2  // copies of the machine code, and what is garbage
	memoryOfHeld = 24 // what the compiler holds of one function, by the byte of its machine code
)

// compileCost says how many bytes of machine code the module becomes, and how
// many bytes of memory compiling takes in all: the binary, its metered copy,
// what the compiler holds, and the result.
func (a *anatomy) compileCost() (machineCode, memory uint64) {
	machineCode = a.machineCode
	for _, t := range a.Types {
		machineCode += codeType + codePassed*uint64(len(t.Params)+len(t.Results))
	}
	return machineCode, memoryOfByte*uint64(a.Size) + memoryOfCode*machineCode + a.heaviest
}

// priceBody adds the machine code of the function that was passed over.
func (a *anatomy) priceBody(w *walk, body int) {
	typ := a.Types[a.Funcs[a.Imported+body]]
	n := codeFunc + codePassed*(w.passed+len(typ.Params)+len(typ.Results)) + codePart*w.part
	n += w.native
	a.machineCode += uint64(n)
	a.heaviest = max(a.heaviest, uint64(w.load+memoryOfHeld*n))
}

// codeOf is the machine code of an instruction beside the values that it moves.
func codeOf(o wasm.Op) int {
	switch {
	case o >= 0x200:
		return codeVector
	case o == wasm.OpCall, o == wasm.OpCallIndirect, o == wasm.OpRefFunc, o.Ranged(), burdens[o] > bytesTrap:
		return codeCall
	case o.Access():
		return 2 * codePlain
	}
	return codePlain
}
