;; Sends the request in the setting "request". It returns 0 if there is an answer,
;; else 128 minus the error code.
(module
  (import "wasmjob_v1" "config_get" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "http_request" (func $request (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "request")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $n i32)
    (local.set $n (call $request (i32.const 64) (call $config (i32.const 0) (i32.const 7) (i32.const 64) (i32.const 4096))))
    (if (result i32) (i32.lt_s (local.get $n) (i32.const 0)) (then (i32.sub (i32.const 128) (local.get $n))) (else (i32.const 0)))))
