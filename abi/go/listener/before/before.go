// Package before adds a listener to a module that is called before the entry of each
// run, in its instance.
//
//	func init() { before.Register(ready) }
//
// If it returns an error, that is the result of the run, and the entry is not called:
// with wasmjob.Skip it declines a run.
//
// In a dataflow job it runs once, in the instance of fetch. It does not run in other
// instances that process gets, with concurrency or after a trap: prepare what each
// instance needs in init.
package before

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is called by the export. Exports are global, so this must be, too; it is set
// before anything runs.
var registered func(wasmjob.Context) error

// Register sets the listener; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
