;; Sleeps for a day through WASI.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    ;; one subscription: the clock 1, relative, a day in nanoseconds
    (i32.store (i32.const 16) (i32.const 1))
    (i64.store (i32.const 24) (i64.const 86400000000000))
    (loop $for_ever
      (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128)))
      (br $for_ever))
    i32.const 0))
