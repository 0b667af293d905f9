;; Sets 64 values, and a 65th, which is refused with -5. It returns 128 plus the number of
;; the step that failed.
(module
  (import "wasmjob_v1" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $i i32)
    (loop $next
      (i32.store8 (i32.const 0) (i32.add (i32.const 33) (local.get $i)))
      (if (call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1)) (then (return (i32.const 129))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 64))))
    (i32.store16 (i32.const 0) (i32.const 0x7a7a))
    (if (i32.ne (call $set (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 1)) (i32.const -5)) (then (return (i32.const 130))))
    ;; one of those that are there may change
    (i32.store8 (i32.const 0) (i32.const 33))
    (if (call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 2)) (then (return (i32.const 131))))
    i32.const 0))
