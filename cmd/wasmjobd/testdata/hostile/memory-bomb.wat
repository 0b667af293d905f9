;; Takes all memory that it is given, touches every page, and does not go on without more.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $page i32)
    (loop $more
      (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (loop $touch
      (i32.store8 (i32.mul (local.get $page) (i32.const 65536)) (i32.const 1))
      (local.set $page (i32.add (local.get $page) (i32.const 1)))
      (br_if $touch (i32.lt_u (local.get $page) (memory.size))))
    unreachable))
