// Package sandbox runs guest modules: it checks a binary, compiles it once per
// digest, and gives each run an instance of its own with nothing granted but
// what the job allows. It is the only package that knows the Wasm engine.
//
// It is not for deciding when or where an item runs, for fetching modules, or
// for retrying: a run is one attempt, and every fault of a guest comes back as
// a job.Outcome.
//
// The flow:
//
//	Load   bytes → check (bounds, imports, exports) → compile → *Module
//	Run    *Module + job.Call → fresh instance → _initialize → wasmjob_execute
//	       → instance destroyed → job.Outcome
//
// A run is stopped in two steps. At its deadline the host function "cancelled"
// begins to say so; when the grace is over, or as soon as the caller's context
// ends, the engine closes the instance. The engine looks for that at the head
// of each loop and when a host function is called, which leaves two gaps in
// this release: calls that recurse without a loop run until they end or the
// stack is full, and one bulk operation (memory.fill, memory.copy) is not
// interrupted, so the memory limit bounds it. During either, a collection of
// garbage waits, and once one is due, so does every goroutine of the process.
//
// The memory limit is that of the linear memory. Beside it an instance has its
// tables (4 MB at most) and the stack of the engine, which is doubled as calls
// nest, until at some 100 MB the engine gives up.
package sandbox
