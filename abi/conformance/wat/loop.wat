;; Never ends.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (loop $for_ever (br $for_ever))
    i32.const 0))
