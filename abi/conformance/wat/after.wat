;; Returns its item, after setting a reason if that is not 0; with item 4 it returns 0 once
;; it was asked to stop. The listener after sets the result: how the run has ended (8
;; bytes), the length of its reason or the code for none (4), the reason. Then it fails
;; with its own reason. The result of completed is how many items succeeded, failed and had
;; nothing to do (8 bytes each).
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "ctx_str" (func $str (param i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "cancelled" (func $cancelled (result i32)))
  (import "wasmjob_v1" "error_set" (func $error (param i32 i32) (result i32)))
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "it endedhear this")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) (local $item i32)
    (local.set $item (i32.wrap_i64 (call $int (i32.const 101))))
    (if (i32.eqz (local.get $item)) (then (return (i32.const 0))))
    (drop (call $error (i32.const 100) (i32.const 8)))
    (if (i32.ne (local.get $item) (i32.const 4)) (then (return (local.get $item))))
    (loop $again (br_if $again (i32.eqz (call $cancelled))))
    i32.const 0)
  (func (export "wasmjob_after") (result i32) (local $n i32)
    (i64.store (i32.const 0) (call $int (i32.const 112)))
    (local.set $n (call $str (i32.const 10) (i32.const 12) (i32.const 64)))
    (i32.store (i32.const 8) (local.get $n))
    (drop (call $result (i32.const 0) (i32.add (i32.const 12)
      (select (local.get $n) (i32.const 0) (i32.gt_s (local.get $n) (i32.const 0))))))
    (drop (call $error (i32.const 108) (i32.const 9)))
    i32.const 1)
  (func (export "wasmjob_completed") (result i32)
    (i64.store (i32.const 0) (call $int (i32.const 113)))
    (i64.store (i32.const 8) (call $int (i32.const 114)))
    (i64.store (i32.const 16) (call $int (i32.const 115)))
    (call $result (i32.const 0) (i32.const 24))))
