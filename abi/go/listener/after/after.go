// Package after adds a listener to a module that is called when the entry has
// returned, in its instance.
//
//	func init() { after.Register(note) }
//
// It is called whatever the entry returned, which Context.Ended tells, but not
// after a panic; what it answers is logged and changes nothing.
package after

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is what the export calls. Exports are global, so this has to be,
// too; it is set before anything runs.
var registered func(wasmjob.Context) error

// Register says what is called; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
