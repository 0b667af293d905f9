//go:build wasip1

package strategy

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_shard
func shard() int32 { return wasmjob.RunShard(registered) }
