;; The smallest job of all: it logs a line, gives the parameter of its item back,
;; and is done. Every SDK wraps what is spelled out here.
;;
;;   wat2wasm hello.wat -o hello.wasm
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (import "wasmjob_v1" "ctx_str" (func $ctx_str (param i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "result_set" (func $result_set (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "hello from WAT")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $length i32)
    (call $log (i32.const 2) (i32.const 0) (i32.const 14)) ;; 2: info
    ;; Field 4 is the parameter; it is written only if it fits.
    (local.set $length (call $ctx_str (i32.const 4) (i32.const 1024) (i32.const 4096)))
    (if (i32.le_u (local.get $length) (i32.const 4096)) ;; unsigned: an error is larger
      (then (drop (call $result_set (i32.const 1024) (local.get $length)))))
    i32.const 0)) ;; 0: done
