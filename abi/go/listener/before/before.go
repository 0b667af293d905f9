// Package before adds a listener to a module that is called before the entry of each
// run, in its instance.
//
//	func init() { before.Register(ready) }
//
// Whatever it answers but nil ends the run with that result, and the entry is not
// called: with wasmjob.Skip a run is declined.
package before

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

// registered is what the export calls. Exports are global, so this has to be,
// too; it is set before anything runs.
var registered func(wasmjob.Context) error

// Register says what is called; call it from init. The last call counts.
func Register(f func(wasmjob.Context) error) { registered = f }
