;; Returns -1, which means that an SDK was misused.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const -1))
