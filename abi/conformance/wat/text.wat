;; Reads the text field with the number of its item. The result is the text or, for an
;; error code, a minus and the code's absolute value as one digit (or "x").
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "ctx_str" (func $str (param i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $n i32)
    (local.set $n (call $str (i32.wrap_i64 (call $int (i32.const 101))) (i32.const 64) (i32.const 4096)))
    (if (i32.lt_s (local.get $n) (i32.const 0))
      (then
        (i32.store8 (i32.const 0) (i32.const 45))
        (i32.store8 (i32.const 1) (i32.sub (i32.const 48) (local.get $n)))
        (return (call $result (i32.const 0) (i32.const 2)))))
    (call $result (i32.const 64) (local.get $n))))
