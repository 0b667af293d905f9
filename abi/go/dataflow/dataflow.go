// Package dataflow makes a module a dataflow job: one function finds elements,
// the other handles them, batch by batch.
//
//	func init() { dataflow.Register(fetch, process) }
//
// The host holds the batch in between: if process traps, a new instance gets the same
// elements again. The package contains only the exports; package wasmjob has everything
// that a job can do.
package dataflow

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// The functions that the exports call. Exports are global, so these must be, too; they
// are set before anything runs.
var (
	registeredFetch   func(wasmjob.Context, wasmjob.Sink) error
	registeredProcess func(wasmjob.Context, wasmjob.Batch) error
)

// Register sets the job of this module; call it from init. The last call counts.
func Register(fetch func(wasmjob.Context, wasmjob.Sink) error, process func(wasmjob.Context, wasmjob.Batch) error) {
	registeredFetch, registeredProcess = fetch, process
}
