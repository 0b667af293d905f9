;; Sleeps for a day, and again when it is woken.
(module
  (import "wasmjob_v1" "sleep_ms" (func $sleep (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (loop $for_ever
      (drop (call $sleep (i32.const 86400000)))
      (br $for_ever))
    i32.const 0))
