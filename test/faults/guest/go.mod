module github.com/wasmjob/wasmjob/test/faults/guest

go 1.24

require github.com/wasmjob/wasmjob/abi/go v0.0.0

replace github.com/wasmjob/wasmjob/abi/go => ../../../abi/go
