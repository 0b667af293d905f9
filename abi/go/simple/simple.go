// Package simple makes a module a simple job: a function that is called once
// per item and attempt.
//
//	func init() { simple.Register(run) }
//
// It holds the export and nothing else; what a job can do is in package
// wasmjob. Importing it is what makes the module such a job, so a module that
// is none must not.
package simple

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is what the export calls. Exports are global, so this has to be,
// too; it is set before anything runs.
var registered func(wasmjob.Context) error

// Register says what the job of this module is; call it from init. The last
// call counts.
func Register(job func(wasmjob.Context) error) { registered = job }
