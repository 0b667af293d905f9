// Package strategy makes a module a sharding strategy: a function that deals
// the items of a job to the instances that are there.
//
//	func init() { strategy.Register(deal) }
//
// The host calls it twice and takes the answer only if both are the same and
// every item is placed. The package holds the export and nothing else: what a
// strategy sees and does is wasmjob.Deal.
package strategy

import wasmjob "github.com/wasmjob/wasmjob/abi/go" //nolint:depguard // the rule means the host's package of this name

// registered is what the export calls. Exports are global, so this has to be,
// too; it is set before anything runs.
var registered func(wasmjob.Context, wasmjob.Deal) error

// Register says what the strategy of this module is; call it from init. The
// last call counts.
func Register(shard func(wasmjob.Context, wasmjob.Deal) error) { registered = shard }
