;; Opens what the setting "path" names, for reading, below the first granted
;; directory. It returns 0 if that works, else 128 plus WASI's error number.
(module
  (import "wasmjob_v1" "config_get" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "path")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $n i32)
    (local.set $n (call $open (i32.const 3) (i32.const 1) (i32.const 64)
      (call $config (i32.const 0) (i32.const 4) (i32.const 64) (i32.const 1024))
      (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 16)))
    (if (result i32) (local.get $n) (then (i32.add (i32.const 128) (local.get $n))) (else (i32.const 0)))))
