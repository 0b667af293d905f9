// Package simple makes a module a simple job: a function that is called once
// per item and attempt.
//
//	func init() { simple.Register(run) }
//
// It contains only the export; package wasmjob has everything that a job can do.
// Importing this package makes the module such a job, so other modules must not import
// it.
package simple

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is called by the export. Exports are global, so this must be, too; it is set
// before anything runs.
var registered func(wasmjob.Context) error

// Register sets the job of this module; call it from init. The last call counts.
func Register(job func(wasmjob.Context) error) { registered = job }
