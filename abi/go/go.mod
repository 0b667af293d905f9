module github.com/wasmjob/wasmjob/abi/go

go 1.24
