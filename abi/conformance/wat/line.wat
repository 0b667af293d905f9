;; Logs a line of 60,000 bytes, and one that is not UTF-8 and has control characters.
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "a\1b[31m\00\ff\n")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (call $log (i32.const 2) (i32.const 0) (i32.const 9))
    (memory.fill (i32.const 0) (i32.const 120) (i32.const 60000))
    (call $log (i32.const 2) (i32.const 0) (i32.const 60000))
    i32.const 0))
