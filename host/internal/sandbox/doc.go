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
//	Load   turn (queue.go) → bytes → wasm.Decode → check (effort, imports, exports) → meter
//	       → compile, here or in a process of its own (trial.go, subprocess.go) → *Module
//	Run    *Module + job.Call → the way of its kind (kinds.go, dataflow.go)
//	       → instance → _initialize → listener, entry, listener → state kept
//	       → instance destroyed, or at rest → judge → job.Outcome
//	Shard  *Module + job.ShardCall → two runs that know their input alone
//	       → owners, if they agree
//
// A run has one instance at a time; the parts of a batch that are processed at
// once are runs of their own, forked from it and merged in order. An instance
// is asked for by attach, which may find one at rest in the pool of the job
// (pool.go), or waits until all instances together leave room for another
// (budget.go). Guests reach the host by one table of functions (table.go),
// which follows that of package abi.
//
// What a guest has of the world beyond its memory is what it was granted:
// state, secrets and requests (host_state.go, http.go), and directories, which
// os.Root keeps it in (files.go). Secrets are hidden from the log and from the
// reasons of failures (mask.go), and left alone in results.
//
// A run is stopped in two steps. At its deadline the host function "cancelled"
// begins to say so; when the grace is over, or as soon as the caller's context
// ends, the guest is ended. For that the engine never sees a module as it is:
// package meter has its code report to the host (fuel.go) about ten thousand
// times a second, wherever it is: in loops, in calls, in a bulk operation. The
// report is also when other goroutines and the collector of garbage get their
// turn, and where a run ends that has used up its fuel.
//
// The memory limit is that of the linear memory. Beside it an instance has its
// tables, globals and segments, and while it runs a stack of 1 MiB (stack.go); the
// budget of all guests counts these, too.
package sandbox
