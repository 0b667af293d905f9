;; Sets a result of 30 MiB again and again, and never ends.
(module
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 480)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (memory.fill (i32.const 0) (i32.const 7) (i32.const 31457280))
    (loop $again
      (drop (call $result (i32.const 0) (i32.const 31457280)))
      (br $again))
    unreachable))
