;; Logs for ever, long lines.
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (memory.fill (i32.const 0) (i32.const 120) (i32.const 65536))
    (loop $for_ever
      (call $log (i32.const 4) (i32.const 0) (i32.const 65536))
      (br $for_ever))
    i32.const 0))
