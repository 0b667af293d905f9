//go:build wasip1

package wasmjob

// abiV1 is never called: that it is exported says which ABI the module speaks.
//
//go:wasmexport wasmjob_abi_v1
func abiV1() {}

//go:wasmexport wasmjob_execute
func execute() int32 { return runJob(guest{}, job) }
