;; Adds elements of 1 MiB until that is refused with -5. The result is their number, as
;; four bytes.
(module
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (import "wasmjob_v1" "batch_count" (func $count (result i32)))
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 17)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (local $code i32)
    (loop $more
      (local.set $code (call $add (i32.const 0) (i32.const 1048576)))
      (br_if $more (i32.ge_s (local.get $code) (i32.const 0))))
    (if (i32.ne (local.get $code) (i32.const -5)) (then (return (i32.const 129))))
    i32.const 0)
  (func (export "wasmjob_process") (result i32)
    (i32.store (i32.const 0) (call $count))
    (call $result (i32.const 0) (i32.const 4))))
