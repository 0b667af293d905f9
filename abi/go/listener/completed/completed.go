// Package completed adds a listener to a module that is called once per fire, on one
// server, when every item has ended.
//
//	func init() { completed.Register(note) }
//
// It runs in an instance of its own, apart from the items; Context.Fire tells
// how they have ended.
package completed

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is what the export calls. Exports are global, so this has to be,
// too; it is set before anything runs.
var registered func(wasmjob.Context) error

// Register says what is called; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
