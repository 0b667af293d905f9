//go:build wasip1

package after

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_after
func after() int32 { return wasmjob.Run(registered) }
