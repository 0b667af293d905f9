;; A dataflow job whose batches never end.
(module
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (drop (call $add (i32.const 0) (i32.const 4)))
    i32.const 0)
  (func (export "wasmjob_process") (result i32) i32.const 0))
