;; Exits like a command, with code 0, in the middle of a job.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (call $exit (i32.const 0))
    i32.const 0))
