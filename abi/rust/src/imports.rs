//! The functions of the host, as a module imports them. A module does not import
//! functions that it does not use.

#[link(wasm_import_module = "wasmjob_v1")]
extern "C" {
    pub(crate) fn ctx_str(field: i32, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn ctx_int(field: i32) -> i64;
    pub(crate) fn ctx_json(buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn config_get(key: *const u8, klen: usize, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn log(level: i32, msg: *const u8, len: usize);
    pub(crate) fn log_level() -> i32;
    pub(crate) fn result_set(ptr: *const u8, len: usize) -> i32;
    pub(crate) fn error_set(ptr: *const u8, len: usize) -> i32;
    pub(crate) fn cancelled() -> i32;
    pub(crate) fn progress(done: i64, total: i64);
    pub(crate) fn metric_add(name: *const u8, nlen: usize, value: f64) -> i32;
    pub(crate) fn sleep_ms(ms: i32) -> i32;

    pub(crate) fn now_unix_ms() -> i64;
    pub(crate) fn random(buf: *mut u8, len: usize) -> i32;

    pub(crate) fn batch_add(ptr: *const u8, len: usize) -> i32;
    pub(crate) fn batch_count() -> i32;
    pub(crate) fn batch_read(index: i32, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn batch_ack(index: i32, outcome: i32) -> i32;

    pub(crate) fn state_get(key: *const u8, klen: usize, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn state_set(key: *const u8, klen: usize, val: *const u8, vlen: usize) -> i32;
    pub(crate) fn state_delete(key: *const u8, klen: usize) -> i32;

    pub(crate) fn secret_get(name: *const u8, nlen: usize, buf: *mut u8, cap: usize) -> i32;

    pub(crate) fn http_request(req: *const u8, len: usize) -> i32;
    pub(crate) fn http_status(handle: i32) -> i32;
    pub(crate) fn http_header(
        handle: i32,
        name: *const u8,
        nlen: usize,
        buf: *mut u8,
        cap: usize,
    ) -> i32;
    pub(crate) fn http_read(handle: i32, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn http_close(handle: i32) -> i32;

    pub(crate) fn shard_instance_count() -> i32;
    pub(crate) fn shard_instance_id(instance: i32, buf: *mut u8, cap: usize) -> i32;
    pub(crate) fn shard_instance_label(
        instance: i32,
        key: *const u8,
        klen: usize,
        buf: *mut u8,
        cap: usize,
    ) -> i32;
    pub(crate) fn shard_prev(item: i32) -> i32;
    pub(crate) fn shard_assign(item: i32, instance: i32) -> i32;
}
