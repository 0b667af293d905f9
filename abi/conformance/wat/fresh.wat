;; Fails if it finds traces of an earlier run in a global, in the memory, or in a table.
;; Item 1 leaves such traces and ends with a trap.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (elem declare func $mark)
  (global $used (mut i32) (i32.const 0))
  (func $mark (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (if (global.get $used) (then (return (i32.const 129))))
    (if (i32.load (i32.const 1000)) (then (return (i32.const 130))))
    (if (i32.eqz (ref.is_null (table.get 0 (i32.const 1)))) (then (return (i32.const 131))))
    (global.set $used (i32.const 1))
    (i32.store (i32.const 1000) (i32.const 1))
    (table.set 0 (i32.const 1) (ref.func $mark))
    (if (i64.eq (call $int (i32.const 101)) (i64.const 1)) (then unreachable))
    i32.const 0))
