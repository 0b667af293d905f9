// Every function of the host, unwrapped. The host treats pointers and lengths as
// unsigned; the other files of this folder wrap them.

// @ts-ignore: decorator
@external("wasmjob_v1", "ctx_str")
export declare function ctx_str(field: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "ctx_int")
export declare function ctx_int(field: i32): i64;
// @ts-ignore: decorator
@external("wasmjob_v1", "ctx_json")
export declare function ctx_json(buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "config_get")
export declare function config_get(key: usize, klen: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "log")
export declare function log(level: i32, msg: usize, len: i32): void;
// @ts-ignore: decorator
@external("wasmjob_v1", "log_level")
export declare function log_level(): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "result_set")
export declare function result_set(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "error_set")
export declare function error_set(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "cancelled")
export declare function cancelled(): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "progress")
export declare function progress(done: i64, total: i64): void;
// @ts-ignore: decorator
@external("wasmjob_v1", "metric_add")
export declare function metric_add(name: usize, nlen: i32, value: f64): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "sleep_ms")
export declare function sleep_ms(ms: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "now_unix_ms")
export declare function now_unix_ms(): i64;
// @ts-ignore: decorator
@external("wasmjob_v1", "random")
export declare function random(buf: usize, len: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "batch_add")
export declare function batch_add(ptr: usize, len: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "batch_count")
export declare function batch_count(): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "batch_read")
export declare function batch_read(index: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "batch_ack")
export declare function batch_ack(index: i32, outcome: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "state_get")
export declare function state_get(key: usize, klen: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "state_set")
export declare function state_set(key: usize, klen: i32, val: usize, vlen: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "state_delete")
export declare function state_delete(key: usize, klen: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "secret_get")
export declare function secret_get(name: usize, nlen: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "http_request")
export declare function http_request(req: usize, len: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "http_status")
export declare function http_status(handle: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "http_header")
export declare function http_header(handle: i32, name: usize, nlen: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "http_read")
export declare function http_read(handle: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "http_close")
export declare function http_close(handle: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "shard_instance_count")
export declare function shard_instance_count(): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "shard_instance_id")
export declare function shard_instance_id(instance: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "shard_instance_label")
export declare function shard_instance_label(instance: i32, key: usize, klen: i32, buf: usize, cap: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "shard_prev")
export declare function shard_prev(item: i32): i32;
// @ts-ignore: decorator
@external("wasmjob_v1", "shard_assign")
export declare function shard_assign(item: i32, instance: i32): i32;
