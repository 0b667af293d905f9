;; Fills all memory that it is given, page by page, and keeps it.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $page i32)
    (loop $more
      (local.set $page (memory.grow (i32.const 1)))
      (if (i32.ne (local.get $page) (i32.const -1)) (then
        (memory.fill (i32.mul (local.get $page) (i32.const 65536)) (i32.const 7) (i32.const 65536))
        (br $more))))
    (loop $keep (br $keep))
    unreachable))
