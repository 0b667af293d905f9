;; Loops forever in its start function.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func $start (loop $for_ever (br $for_ever)))
  (start $start)
  (func (export "wasmjob_execute") (result i32) i32.const 0))
