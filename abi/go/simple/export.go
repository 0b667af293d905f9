//go:build wasip1

package simple

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_execute
func execute() int32 { return wasmjob.Run(registered) }
