;; Fails with a reason. The item decides its bytes: 0 plain, 1 not UTF-8, 2 of
;; 60,000 bytes.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "error_set" (func $error (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "it failed")
  (data (i32.const 16) "bad \ff\fe text")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $item i32)
    (local.set $item (i32.wrap_i64 (call $int (i32.const 101))))
    (if (i32.eq (local.get $item) (i32.const 0))
      (then (drop (call $error (i32.const 0) (i32.const 9)))))
    (if (i32.eq (local.get $item) (i32.const 1))
      (then (drop (call $error (i32.const 16) (i32.const 11)))))
    (if (i32.eq (local.get $item) (i32.const 2))
      (then
        (memory.fill (i32.const 0) (i32.const 120) (i32.const 60000))
        (drop (call $error (i32.const 0) (i32.const 60000)))))
    i32.const 1))
