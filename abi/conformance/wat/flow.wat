;; A dataflow job. Its item is the number of elements in the first batch; each has four
;; bytes, its index. The second batch is empty. Process checks each element, and returns
;; 128 plus the number of the step that failed.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (import "wasmjob_v1" "batch_count" (func $count (result i32)))
  (import "wasmjob_v1" "batch_read" (func $read (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $fetched (mut i32) (i32.const 0))
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (local $i i32) (local $n i32)
    (if (i32.ne (call $count) (i32.const -10)) (then (return (i32.const 129))))
    (if (i32.eqz (global.get $fetched))
      (then (local.set $n (i32.wrap_i64 (call $int (i32.const 101))))))
    (global.set $fetched (i32.const 1))
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (i32.store (i32.const 0) (local.get $i))
          (if (i32.ne (call $add (i32.const 0) (i32.const 4)) (local.get $i)) (then (return (i32.const 130))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
    i32.const 0)
  (func (export "wasmjob_process") (result i32)
    (local $i i32)
    (if (i32.ne (call $add (i32.const 0) (i32.const 4)) (i32.const -10)) (then (return (i32.const 131))))
    (if (i32.ne (call $count) (i32.wrap_i64 (call $int (i32.const 101)))) (then (return (i32.const 132))))
    (loop $next
      (if (i32.lt_u (local.get $i) (call $count))
        (then
          (if (i32.ne (call $read (local.get $i) (i32.const 0) (i32.const 0)) (i32.const 4)) (then (return (i32.const 133))))
          (if (i32.ne (call $read (local.get $i) (i32.const 8) (i32.const 8)) (i32.const 4)) (then (return (i32.const 134))))
          (if (i32.ne (i32.load (i32.const 8)) (local.get $i)) (then (return (i32.const 135))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
    (if (i32.ne (call $read (local.get $i) (i32.const 0) (i32.const 8)) (i32.const -4)) (then (return (i32.const 136))))
    i32.const 0))
