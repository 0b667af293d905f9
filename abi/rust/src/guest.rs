//! The host as a module uses it: the imports, with slices instead of pointers.
//!
//! Every call is sound for the same reason: pointer and length belong to a slice that
//! outlives the call, and the host writes only bytes, only into mutable slices, and keeps
//! no pointer.

use crate::imports;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn ctx_str(field: i32, buf: &mut [u8]) -> i32 {
    unsafe { imports::ctx_str(field, buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn ctx_int(field: i32) -> i64 {
    unsafe { imports::ctx_int(field) }
}

pub(crate) fn ctx_json(buf: &mut [u8]) -> i32 {
    unsafe { imports::ctx_json(buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn config_get(key: &str, buf: &mut [u8]) -> i32 {
    unsafe { imports::config_get(key.as_ptr(), key.len(), buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn log(level: i32, msg: &str) {
    unsafe { imports::log(level, msg.as_ptr(), msg.len()) }
}

pub(crate) fn log_level() -> i32 {
    unsafe { imports::log_level() }
}

pub(crate) fn result_set(value: &[u8]) -> i32 {
    unsafe { imports::result_set(value.as_ptr(), value.len()) }
}

pub(crate) fn error_set(reason: &str) -> i32 {
    unsafe { imports::error_set(reason.as_ptr(), reason.len()) }
}

pub(crate) fn cancelled() -> i32 {
    unsafe { imports::cancelled() }
}

pub(crate) fn progress(done: i64, total: i64) {
    unsafe { imports::progress(done, total) }
}

pub(crate) fn metric_add(name: &str, value: f64) -> i32 {
    unsafe { imports::metric_add(name.as_ptr(), name.len(), value) }
}

pub(crate) fn sleep_ms(ms: i32) -> i32 {
    unsafe { imports::sleep_ms(ms) }
}

pub(crate) fn now_unix_ms() -> i64 {
    unsafe { imports::now_unix_ms() }
}

pub(crate) fn random(buf: &mut [u8]) -> i32 {
    unsafe { imports::random(buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn batch_add(element: &[u8]) -> i32 {
    unsafe { imports::batch_add(element.as_ptr(), element.len()) }
}

pub(crate) fn batch_count() -> i32 {
    unsafe { imports::batch_count() }
}

pub(crate) fn batch_read(index: i32, buf: &mut [u8]) -> i32 {
    unsafe { imports::batch_read(index, buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn batch_ack(index: i32, outcome: i32) -> i32 {
    unsafe { imports::batch_ack(index, outcome) }
}

pub(crate) fn state_get(key: &str, buf: &mut [u8]) -> i32 {
    unsafe { imports::state_get(key.as_ptr(), key.len(), buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn state_set(key: &str, value: &[u8]) -> i32 {
    unsafe { imports::state_set(key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
}

pub(crate) fn state_delete(key: &str) -> i32 {
    unsafe { imports::state_delete(key.as_ptr(), key.len()) }
}

pub(crate) fn secret_get(name: &str, buf: &mut [u8]) -> i32 {
    unsafe { imports::secret_get(name.as_ptr(), name.len(), buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn http_request(request: &[u8]) -> i32 {
    unsafe { imports::http_request(request.as_ptr(), request.len()) }
}

pub(crate) fn http_status(handle: i32) -> i32 {
    unsafe { imports::http_status(handle) }
}

pub(crate) fn http_header(handle: i32, name: &str, buf: &mut [u8]) -> i32 {
    unsafe {
        imports::http_header(
            handle,
            name.as_ptr(),
            name.len(),
            buf.as_mut_ptr(),
            buf.len(),
        )
    }
}

pub(crate) fn http_read(handle: i32, buf: &mut [u8]) -> i32 {
    unsafe { imports::http_read(handle, buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn http_close(handle: i32) -> i32 {
    unsafe { imports::http_close(handle) }
}

pub(crate) fn shard_instance_count() -> i32 {
    unsafe { imports::shard_instance_count() }
}

pub(crate) fn shard_instance_id(instance: i32, buf: &mut [u8]) -> i32 {
    unsafe { imports::shard_instance_id(instance, buf.as_mut_ptr(), buf.len()) }
}

pub(crate) fn shard_instance_label(instance: i32, key: &str, buf: &mut [u8]) -> i32 {
    unsafe {
        imports::shard_instance_label(
            instance,
            key.as_ptr(),
            key.len(),
            buf.as_mut_ptr(),
            buf.len(),
        )
    }
}

pub(crate) fn shard_prev(item: i32) -> i32 {
    unsafe { imports::shard_prev(item) }
}

pub(crate) fn shard_assign(item: i32, instance: i32) -> i32 {
    unsafe { imports::shard_assign(item, instance) }
}

/// A panic ends a module with a trap, which has no text. The hook passes the text to the
/// host first, followed by its position.
pub(crate) fn catch_panics() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if !INSTALLED.swap(true, Ordering::Relaxed) {
        std::panic::set_hook(Box::new(|info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or("a value that is not text");
            error_set(&match info.location() {
                Some(place) => format!("panic: {text} ({place})"),
                None => format!("panic: {text}"),
            });
        }));
    }
}
