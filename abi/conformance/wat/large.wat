;; Starts with 1,200 pages, 75 MiB.
(module
  (memory (export "memory") 1200)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
