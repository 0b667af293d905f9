;; Refused: no marker of the contract.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_execute") (result i32) i32.const 0))
