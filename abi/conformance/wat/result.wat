;; Sets a result of 1 MiB, and one with one more byte, which is refused with -5 and changes
;; nothing. It returns 128 plus the number of the step that failed.
(module
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 20)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (memory.fill (i32.const 0) (i32.const 120) (i32.const 1048577))
    (if (call $result (i32.const 0) (i32.const 1048576)) (then (return (i32.const 129))))
    (if (i32.ne (call $result (i32.const 0) (i32.const 1048577)) (i32.const -5)) (then (return (i32.const 130))))
    i32.const 0))
