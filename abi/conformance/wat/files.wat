;; Opens the file that its item names, below the first granted directory (descriptor 3).
;; The result is WASI's error number as one byte.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "config_get" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "result_set" (func $result (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "path")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $n i32)
    (local.set $n (call $config (i32.const 0) (i32.const 4) (i32.const 64) (i32.const 1024)))
    ;; following links, for reading
    (i32.store8 (i32.const 32) (call $open (i32.const 3) (i32.const 1) (i32.const 64) (local.get $n)
      (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 16)))
    (call $result (i32.const 32) (i32.const 1))))
