;; Grows its table by a million entries at a time until that is refused.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (loop $more
      (br_if $more (i32.ne (table.grow 0 (ref.null func) (i32.const 1000000)) (i32.const -1))))
    i32.const 0))
