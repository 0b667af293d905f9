;; Logs at a level that does not exist.
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (call $log (i32.const 5) (i32.const 0) (i32.const 1))
    i32.const 0))
