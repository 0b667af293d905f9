// Package meter rewrites a core Wasm module so that a guest accounts for what
// it does and can be stopped anywhere. It is not for judging modules: types are
// left to the engine to validate, and what a module may import or how much
// memory it may have is decided elsewhere. It runs nothing.
//
// # What comes out
//
// The module has one more import, the function [ImportModule].[ImportYield] of
// type (i64) -> (i64), and one more export, the variable [ExportLeft] of type
// i64: the balance of the running slice. Code pays before it runs. Where the
// balance falls below zero the guest calls yield with it, and what yield gives
// back becomes the new balance. The balance begins at zero, so the host either
// sets it before a call or is asked at once. The host does the sum with a
// [Tally]: what was used is what was given less what is left, and that number
// is the same for every size of slices.
//
// A host function that panics, or closes the module, ends the guest; nothing
// needs to be undone, as the instance is not used again.
//
// # What is paid for, and where
//
// Each instruction has a price (prices.go). A straight piece of code pays for
// itself as a whole, at its begin: at the entry of a function, at the head of
// a loop, and wherever flow parts or comes together. Code behind a block, loop
// or if that nothing jumps out of belongs to the piece before it, because it
// runs as often. So the fuel of a run is the sum of the prices of what it ran;
// only a trap, or a guest that exits, has paid for the rest of its pieces.
//
// A payment is four instructions. Only at entries of functions, at heads of
// loops and before calls of the host does code look at the balance: every cycle
// of a program has one of these in it, and between two of them lies no more than
// one function. A look costs more than a payment, as the call in it takes the
// registers; how it is written (asm.fill, asm.head) keeps that away from where
// nothing is called.
//
// The head of a loop is paid by those who come there, if all of them always do
// (cycles.go): a loop whose condition stands at its begin then pays once for a
// turn instead of twice, and its head only looks.
//
// Work that one instruction can make as large as it likes is done by functions
// added to the module (bulk.go): filling, copying and initializing of memories
// and tables pays by length and goes in pieces of 64 KiB with a payment before
// each; growing pays by length once it has succeeded, as it cannot be taken
// back halfway. A table grows to [Options].MaxTable entries at most. References
// to functions are made once (references.go), as the engine never frees one.
//
// # Starting by hand
//
// A start function would run inside instantiation, and of an instance that
// fails to start nobody can ask the balance. So it is exported as [ExportStart]
// instead, and the host calls that right after it instantiated the module;
// [Result].Start says that there is one. This is the same to the guest:
// memories and tables are filled before either.
//
// # Flow
//
// [Rewrite] takes what package wasm has taken apart, shifts the indexes of
// functions in its sections (sections.go), as the new import comes before all
// that the module defines, rewrites function bodies in one pass (code.go), where
// a payment is written before its amount is known and mended at the end, and
// puts the sections together again (assemble.go). Names follow the shift
// (names.go); custom sections that speak of places in the code are dropped.
package meter
