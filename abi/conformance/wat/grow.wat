;; Grows its memory by 16 pages at a time until that is refused. The result is the number
;; of pages, as four bytes.
(module
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (loop $more
      (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (i32.store (i32.const 0) (memory.size))
    (call $result (i32.const 0) (i32.const 4))))
