// Package wasm decodes the binary format of core Wasm modules as untrusted input. It
// compares each declared count with the remaining bytes and with a limit, requires
// canonical encodings where the format does, and refuses everything that it does not
// know. All code that reads a module's bytes uses this package, so that no two
// readers can interpret the same bytes differently.
//
// The package does not validate types, which the engine does, and does not judge the
// imports of a module. It changes and runs nothing.
//
// The flow:
//
//	Decode   bytes → *Module: all sections; function bodies are only split
//	Code     reads one body, an instruction at a time: opcode and operands
//	         (code.go), based on a table of what follows each opcode and how it
//	         changes the stack (op.go)
//
// Errors in a binary are of type *Fault.
package wasm
