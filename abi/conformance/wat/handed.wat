;; Refused: an entry that is a function of the host, handed on as it came.
(module
  (import "wasmjob_v1" "cancelled" (func $cancelled (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (export "wasmjob_execute" (func $cancelled)))
