//go:build wasip1

package started

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_started
func started() int32 { return wasmjob.Run(registered) }
