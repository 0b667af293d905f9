// Package meter rewrites a core Wasm module so that a guest pays fuel for its
// instructions and can be stopped anywhere. It does not judge modules: the engine
// validates types, and other packages decide which imports and how much memory a
// module may have. It runs nothing.
//
// # Output
//
// The module has one more import, the function [ImportModule].[ImportYield] of type
// (i64) -> (i64), and one more export, the variable [ExportLeft] of type i64: the
// balance, which is what is left of the current slice. Code pays before it runs.
// When the balance is below zero, the guest calls yield with it, and the result of
// yield becomes the new balance. The balance starts at zero, so the host either sets
// it before a call or is called soon. The host keeps the account with a [Tally]: the
// fuel used is the sum of the slices granted minus the balance left. It does not
// depend on the size of slices.
//
// A host function that panics, or closes the module, ends the guest. Nothing needs
// to be undone, because the instance is not used again.
//
// # Payments
//
// Each instruction has a price (prices.go). A segment (segments.go) is straight-line
// code that pays as a whole, at its begin: at the entry of a function, at the head
// of a loop, and where flow divides or joins. Code after a block, loop or if belongs
// to the segment before it if no jump leaves the block for another target, because
// both run equally often. A payment moves to another payment where possible:
//
//   - The payment for the head of a loop moves to all segments that lead to it, if each of
//     them always does (loops.go). A loop with its condition at the begin then pays once per
//     iteration.
//   - The payment for the first segment of a function moves to its callers, if it is small
//     and the function is called directly only (emit.go). For the host, an export is
//     replaced by a function that pays and calls it.
//   - The payment for a small segment moves to the segment that leads to it, even if flow
//     may not reach it (gather): paying separately would take longer than the segment.
//
// Only the last changes the sum. So the fuel of a run is the price of the
// instructions that it ran, plus that of small segments that it did not reach, which
// at most doubles it. A guest that traps or exits has paid for the rest of its
// segments.
//
// # Balance checks
//
// Code checks the balance less often than it pays: at heads of loops, before host
// calls, and on each cycle of calls (graph.go, checks.go). A small function that is
// on no cycle does not check, however it is called; its callers add up its possible
// cost and check when that is large. So at most some ten thousand units of fuel are
// spent between two checks, whatever the module. A recursive function also checks
// after the calls that close the cycle, and pays there for the code that follows:
// returning from deep recursion yields as often as entering it.
//
// A check is a loop of its own, or the loop whose head it belongs to: after the host
// call the loop starts again, so that the compiler need not merge register contents
// with and without the call. In a small loop without calls the balance is kept in a
// local as well, because reading a variable right after writing it is slow.
//
// Bulk operations are executed by functions added to the module (bulk.go). Filling,
// copying and initializing pays by length and is done in pieces of 64 KiB with a
// payment before each; up to 4 KiB of memory are filled or copied inline. Growing
// pays by length after it succeeded, because it cannot be undone. A table can grow
// to [Options].MaxTable entries. References to functions are created once
// (references.go), because the engine never frees them.
//
// # Starting the module
//
// A start function would run during instantiation, and the balance of an instance
// that fails to start cannot be read. So the start function is exported as
// [ExportStart], and the host calls it right after instantiation; [Result].Start
// reports whether there is one. The guest sees no difference, because memories and
// tables are initialized before.
//
// # Flow
//
// [Rewrite] takes a module decoded by package wasm. It shifts the function indexes
// in all sections (sections.go), because the new import precedes the functions of
// the module. It walks through all function bodies to find segments, calls and loops
// (code.go), decides which segments pay and check, writes the bodies (emit.go), and
// assembles the sections (assemble.go). Names follow the shift (names.go). Custom
// sections that refer to positions in the code are dropped.
package meter
