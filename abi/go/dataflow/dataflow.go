// Package dataflow makes a module a dataflow job: one function finds elements,
// the other handles them, batch by batch.
//
//	func init() { dataflow.Register(fetch, process) }
//
// The host holds the batch in between: if process traps, a fresh instance gets
// the same elements once more. The package holds the exports and nothing else;
// what a job can do is in package wasmjob.
package dataflow

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// What the exports call. Exports are global, so these have to be, too; they are
// set before anything runs.
var (
	registeredFetch   func(wasmjob.Context, wasmjob.Sink) error
	registeredProcess func(wasmjob.Context, wasmjob.Batch) error
)

// Register says what the job of this module is; call it from init. The last
// call counts.
func Register(fetch func(wasmjob.Context, wasmjob.Sink) error, process func(wasmjob.Context, wasmjob.Batch) error) {
	registeredFetch, registeredProcess = fetch, process
}
