;; Refused: a host function with another type.
(module
  (import "wasmjob_v1" "log_level" (func (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
