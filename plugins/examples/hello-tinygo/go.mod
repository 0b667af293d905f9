module github.com/wasmjob/wasmjob/plugins/examples/hello-tinygo

go 1.24

require github.com/wasmjob/wasmjob/abi/go v0.0.0

replace github.com/wasmjob/wasmjob/abi/go => ../../../abi/go
