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
// sets it before a call or is asked soon. The host does the sum with a
// [Tally]: what was used is what was given less what is left, and that number
// is the same for every size of slices.
//
// A host function that panics, or closes the module, ends the guest; nothing
// needs to be undone, as the instance is not used again.
//
// # What is paid for, and where
//
// Each instruction has a price (prices.go). A segment (segments.go) is a
// straight piece of code that pays as a whole, at its begin: at the entry of a
// function, at the head of a loop, and wherever flow parts or comes together.
// Code behind a block, loop or if that nothing jumps out of belongs to the
// segment before it, because it runs as often. A payment moves to where there
// is one anyway:
//
//   - The head of a loop is paid by those who come there, if all of them always
//     do (cycles.go), so a loop whose condition stands at its begin pays once in
//     a round.
//   - The first segment of a function is paid by its callers if it is small and
//     nothing but direct calls leads there (emit.go). The host, which calls an
//     export, comes by a function that pays.
//   - A small segment is paid with the one that it hangs on, whether flow then
//     comes to it or not (gather): its payment would take longer than it does.
//
// All but the last leave the sum what it is. So the fuel of a run is the prices
// of what it ran, and of small segments that it passed by, which at most double
// it. A trap, or a guest that exits, has paid for the rest of its segments.
//
// # Where the balance is looked at
//
// Code looks at the balance less often than it pays: at heads of loops, before
// calls of the host, and on each cycle of calls (graph.go, looks.go). A small
// function that is on none does not look, however it is called; its callers
// count what it may cost, and look once that becomes much. So between two looks
// there are some ten thousands of fuel, whatever the module. A recursion also
// looks behind the calls that close it, and pays there for what follows: the
// way back from many nested calls reports as the way there does.
//
// A look is a loop of its own, or the loop that it is the head of: after the
// call of the host it begins once more, so that the engine does not have to
// bring together what it has in registers with and without that call. In a
// small loop that calls nothing the balance is also in a local, as reading a
// variable right after it was written takes longer than the rest of the loop.
//
// Work that one instruction can make as large as it likes is done by functions
// added to the module (bulk.go): filling, copying and initializing of memories
// and tables pays by length and goes in pieces of 64 KiB with a payment before
// each, and up to 4 KiB of a memory are filled or copied in place; growing pays by length once it has succeeded, as it cannot be taken
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
// that the module defines, walks through function bodies once to find their
// segments, calls and loops (code.go), decides who pays and who looks, writes
// the bodies (emit.go), and
// puts the sections together again (assemble.go). Names follow the shift
// (names.go); custom sections that speak of places in the code are dropped.
package meter
