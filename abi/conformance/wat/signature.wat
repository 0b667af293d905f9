;; Refused: an entry with parameters.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (param i32) (result i32) i32.const 0))
