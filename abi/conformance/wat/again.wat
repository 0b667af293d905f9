;; Process logs the number of its elements and then traps; with item 1, fetch traps
;; instead.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (import "wasmjob_v1" "batch_count" (func $count (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "0 elements")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (if (i64.eq (call $int (i32.const 101)) (i64.const 1)) (then unreachable))
    (drop (call $add (i32.const 0) (i32.const 1)))
    (drop (call $add (i32.const 0) (i32.const 1)))
    i32.const 0)
  (func (export "wasmjob_process") (result i32)
    (i32.store8 (i32.const 0) (i32.add (i32.const 48) (call $count)))
    (call $log (i32.const 2) (i32.const 0) (i32.const 10))
    unreachable))
