//go:build wasip1

package completed

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_completed
func completed() int32 { return wasmjob.Run(registered) }
