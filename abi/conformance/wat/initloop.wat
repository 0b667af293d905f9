;; Loops forever before its entry is called.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "_initialize") (loop $for_ever (br $for_ever)))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
