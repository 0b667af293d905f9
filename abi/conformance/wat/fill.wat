;; Fills 32 MiB repeatedly: few instructions, much work.
(module
  (memory (export "memory") 512)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (loop $for_ever
      (memory.fill (i32.const 0) (i32.const 1) (i32.const 33554432))
      (memory.copy (i32.const 1) (i32.const 0) (i32.const 33554431))
      (br $for_ever))
    i32.const 0))
