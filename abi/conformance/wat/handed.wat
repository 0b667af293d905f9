;; Refused: an entry that is a re-exported function of the host.
(module
  (import "wasmjob_v1" "cancelled" (func $cancelled (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (export "wasmjob_execute" (func $cancelled)))
