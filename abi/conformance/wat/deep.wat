;; Calls itself endlessly.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func $down (param i64 i64 i64 i64) (result i64)
    (i64.add (local.get 0)
      (call $down (local.get 1) (local.get 2) (local.get 3) (i64.add (local.get 0) (i64.const 1)))))
  (func (export "wasmjob_execute") (result i32)
    (i32.wrap_i64 (call $down (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)))))
