;; Refused: two functions that no host has.
(module
  (import "wasmjob_v1" "ctx_colour" (func (param i32) (result i32)))
  (import "wasmjob_v1" "teleport" (func))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32) i32.const 0))
