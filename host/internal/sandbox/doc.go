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
// of each loop and when a host function is called; guard.go has it look at the
// begin of each function that calls others, too. What lies between is not
// interrupted in this release: straight code, and bulk operations (memory.fill,
// memory.copy), one after the other, each bounded by the memory limit. During
// those a collection of garbage waits, and once one is due, so does every
// goroutine of the process.
//
// The memory limit is that of the linear memory. Beside it an instance has its
// tables (4 MB at most) and the stack of the engine, which is doubled as calls
// nest, until at some 100 MB the engine gives up.
package sandbox
