// Package strategy makes a module a sharding strategy: a function that assigns the items
// of a job to its instances.
//
//	func init() { strategy.Register(deal) }
//
// The host calls it twice and uses the result only if both agree and every item is
// assigned. The package contains only the export; wasmjob.Deal is the input of a
// strategy.
package strategy

import wasmjob "github.com/wasmjob/wasmjob/abi/go" //nolint:depguard // the rule means the host's package of this name

// registered is called by the export. Exports are global, so this must be, too; it is set
// before anything runs.
var registered func(wasmjob.Context, wasmjob.Deal) error

// Register sets the strategy of this module; call it from init. The last call counts.
func Register(shard func(wasmjob.Context, wasmjob.Deal) error) { registered = shard }
