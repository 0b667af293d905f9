//go:build wasip1

package before

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_before
func before() int32 { return wasmjob.Run(registered) }
