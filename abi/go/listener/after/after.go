// Package after adds a listener to a module that is called when the entry has
// returned, in its instance.
//
//	func init() { after.Register(note) }
//
// It is called whatever the entry returned, which Context.Ended says, but not after a
// panic. Its own result is logged and changes nothing.
package after

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is called by the export. Exports are global, so this must be, too; it is set
// before anything runs.
var registered func(wasmjob.Context) error

// Register sets the listener; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
