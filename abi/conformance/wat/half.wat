;; Refused: half a dataflow job.
(module
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_fetch") (result i32) i32.const 0))
