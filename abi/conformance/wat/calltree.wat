;; Calls itself twice, 60 deep, without any loop: practically endless.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func $twice (param $deep i32) (result i32)
    (if (result i32) (local.get $deep)
      (then (i32.add
        (call $twice (i32.sub (local.get $deep) (i32.const 1)))
        (call $twice (i32.sub (local.get $deep) (i32.const 1)))))
      (else (i32.const 1))))
  (func (export "wasmjob_execute") (result i32)
    (drop (call $twice (i32.const 60)))
    i32.const 0))
