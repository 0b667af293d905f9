;; Logs 20,000 lines.
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "flood")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $i i32)
    (loop $next
      (call $log (i32.const 2) (i32.const 0) (i32.const 5))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 20000))))
    i32.const 0))
