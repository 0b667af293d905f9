;; Refused: an imported memory.
(module
  (import "env" "memory" (memory 1))
  (export "memory" (memory 0))
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
