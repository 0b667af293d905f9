//go:build wasip1

package dataflow

import wasmjob "github.com/wasmjob/wasmjob/abi/go"

//go:wasmexport wasmjob_fetch
func fetch() int32 { return wasmjob.RunFetch(registeredFetch) }

//go:wasmexport wasmjob_process
func process() int32 { return wasmjob.RunProcess(registeredProcess) }
