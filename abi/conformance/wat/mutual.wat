;; The same with two functions that call each other through a table.
(module
  (memory (export "memory") 1)
  (type $f (func (param i32) (result i32)))
  (table 2 funcref)
  (elem (i32.const 0) func $even $odd)
  (func (export "wasmjob_abi_v1"))
  (func $even (type $f)
    (if (result i32) (local.get 0)
      (then (i32.add
        (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1))
        (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1))))
      (else (i32.const 1))))
  (func $odd (type $f)
    (if (result i32) (local.get 0)
      (then (i32.add
        (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))
        (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))))
      (else (i32.const 1))))
  (func (export "wasmjob_execute") (result i32)
    (drop (call $even (i32.const 60)))
    i32.const 0))
