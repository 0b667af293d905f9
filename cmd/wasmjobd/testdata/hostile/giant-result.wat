;; Sets a result of 60 MiB, insists on it, and fails.
(module
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 960)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $i i32)
    (loop $again
      (drop (call $result (i32.const 0) (i32.const 62914560)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))
    i32.const 1))
