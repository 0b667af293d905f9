;; Reads the number field that its item names; the result is its eight bytes.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (i64.store (i32.const 0) (call $int (i32.wrap_i64 (call $int (i32.const 101)))))
    (call $result (i32.const 0) (i32.const 8))))
