;; A dataflow job whose batch never ends, in as many parts as there may be.
(module
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (local $n i32)
    (loop $more
      (drop (call $add (i32.const 0) (i32.const 1)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $n) (i32.const 256))))
    i32.const 0)
  (func (export "wasmjob_process") (result i32)
    (loop $for_ever (br $for_ever))
    i32.const 0))
