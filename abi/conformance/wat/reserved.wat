;; Refused: a name that belongs to the host.
(module
  (memory (export "memory") 1)
  (global (export "wasmjob_fuel") (mut i64) (i64.const 0))
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
