;; Refused: no memory.
(module
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
