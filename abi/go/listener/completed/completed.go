// Package completed adds a listener to a module that is called once per fire, on one
// server, when every item has ended.
//
//	func init() { completed.Register(note) }
//
// It runs in its own instance, separate from the items; Context.Fire says how they have
// ended.
package completed

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is called by the export. Exports are global, so this must be, too; it is set
// before anything runs.
var registered func(wasmjob.Context) error

// Register sets the listener; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
