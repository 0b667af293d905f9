// Package sandbox runs guest modules. It checks a module, compiles it once per
// digest, and gives each run its own instance, which can use only what the job
// grants. It is the only package that uses the Wasm engine.
//
// The package does not decide when or where an item runs, does not fetch modules,
// and does not retry: a run is one attempt, and every fault of a guest becomes a
// job.Outcome.
//
// The flow:
//
//	Load   turn (queue.go) → bytes → wasm.Decode → check (ABI, bounds, compile cost) → meter
//	       → compile, in this process or a subprocess (trial.go, subprocess.go) → *Module
//	Run    *Module + job.Call → function of its kind (kinds.go, dataflow.go)
//	       → instance → _initialize → listener, entry, listener → state saved
//	       → instance destroyed, or idle in the pool → job.Outcome (outcome.go)
//	Shard  *Module + job.ShardCall → two runs that know only their input
//	       → assignment, if both agree
//
// A run has one instance at a time. The subtasks of a batch that run at the same
// time are runs of their own; they are forked from the run and merged in order. A
// run gets its instance with attach, which takes an idle one from the pool of the
// job (pool.go) or waits until the budget has memory for a new one (budget.go).
// Guests call the host through one table of functions (table.go), which follows that
// of package abi.
//
// Beyond its memory a guest has only what was granted: state, secrets and requests
// (host_state.go, http.go), and directories, which os.Root confines (files.go).
// Secrets are masked in the log and in the reasons of failures (mask.go), but not in
// results.
//
// A run is stopped in two steps. From its deadline on, the host function "cancelled"
// returns a reason. When the grace period is over, or when the caller's context
// ends, the host ends the guest. To make that possible, package meter rewrites each
// module so that its code calls the host (fuel.go) about ten thousand times a
// second: in loops, in calls and in bulk operations. These calls also let other
// goroutines and the garbage collector run, and end a run that has used up its fuel.
//
// The memory limit applies to the linear memory. An instance also has tables,
// globals and segments, and during a run a stack of 1 MiB (stack.go); the budget of
// all guests includes these.
package sandbox
