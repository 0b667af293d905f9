;; Fetches a batch as large as it may be, and never ends its first element.
(module
  (import "wasmjob_v1" "batch_add" (func $add (param i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32)
    (memory.fill (i32.const 0) (i32.const 7) (i32.const 131072))
    (loop $more (br_if $more (i32.ge_s (call $add (i32.const 0) (i32.const 131072)) (i32.const 0))))
    i32.const 0)
  (func (export "wasmjob_process") (result i32)
    (loop $keep (br $keep))
    unreachable))
