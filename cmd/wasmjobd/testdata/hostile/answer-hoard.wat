;; Sends the request in the setting "request" until no more answers may be open,
;; reads none of them, and never ends.
(module
  (import "wasmjob_v1" "config_get" (func $config (param i32 i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "http_request" (func $request (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "request")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $n i32)
    (local.set $n (call $config (i32.const 0) (i32.const 7) (i32.const 64) (i32.const 4096)))
    (loop $more (br_if $more (i32.gt_s (call $request (i32.const 64) (local.get $n)) (i32.const 0))))
    (loop $keep (br $keep))
    unreachable))
