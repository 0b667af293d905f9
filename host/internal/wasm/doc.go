// Package wasm reads the binary format of core Wasm modules, as foreign input:
// every declared count is held against the bytes that remain and against a
// bound, numbers must be spelled as the format says, and what is not known is
// refused. Whoever wants to know something about a module's bytes asks this
// package, so that no two readers can see different code behind them.
//
// It is not for validating types, which is left to the engine, nor for judging
// what a module asks for. It changes and runs nothing.
//
// The flow:
//
//	Decode   bytes → *Module: all sections but the code, whose bodies are only cut
//	Code     walks one body, an instruction at a time: opcode and operands
//	         (code.go) by one table of what follows each opcode and what it does
//	         to the stack (op.go)
//
// What is wrong with a binary is told as a *Fault.
package wasm
