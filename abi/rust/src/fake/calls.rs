//! The functions of the host on targets without one: they go to the [`Host`] that runs an
//! entry on this thread.
//!
//! [`Host`]: super::Host

use super::serve::Served;
use super::SERVED;
use crate::codes::LEVEL_NONE;

/// Calls f with the host of this thread.
pub(super) fn with<T>(f: impl FnOnce(&mut Served) -> T) -> T {
    SERVED.with(|s| match &mut *s.borrow_mut() {
        Some(served) => f(served),
        None => panic!(
            "there is no host on this thread: call from an entry that wasmjob::fake::Host runs"
        ),
    })
}

/// Calls f with the host of this thread, or returns `none` without one: log lines may
/// also be written outside of a run.
fn with_any<T>(none: T, f: impl FnOnce(&mut Served) -> T) -> T {
    SERVED.with(|s| s.borrow_mut().as_mut().map_or(none, f))
}

pub(crate) fn log(level: i32, line: &str) {
    with_any((), |s| s.log(level, line));
}

pub(crate) fn log_level() -> i32 {
    with_any(LEVEL_NONE, |s| s.host.level as i32)
}

pub(crate) fn error_set(_: &str) -> i32 {
    0 // a test gets the failure itself
}

macro_rules! served {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $answer:ty)?;)+) => {
        $(pub(crate) fn $name($($arg: $type),*) $(-> $answer)? { with(|s| s.$name($($arg),*)) })+
    };
}

served! {
    ctx_str(field: i32, buf: &mut [u8]) -> i32;
    ctx_int(field: i32) -> i64;
    ctx_json(buf: &mut [u8]) -> i32;
    config_get(key: &str, buf: &mut [u8]) -> i32;
    result_set(value: &[u8]) -> i32;
    cancelled() -> i32;
    progress(done: i64, total: i64);
    metric_add(name: &str, value: f64) -> i32;
    sleep_ms(ms: i32) -> i32;
    now_unix_ms() -> i64;
    random(buf: &mut [u8]) -> i32;
    batch_add(element: &[u8]) -> i32;
    batch_count() -> i32;
    batch_read(index: i32, buf: &mut [u8]) -> i32;
    batch_ack(index: i32, outcome: i32) -> i32;
    state_get(key: &str, buf: &mut [u8]) -> i32;
    state_set(key: &str, value: &[u8]) -> i32;
    state_delete(key: &str) -> i32;
    secret_get(name: &str, buf: &mut [u8]) -> i32;
    http_request(request: &[u8]) -> i32;
    http_status(handle: i32) -> i32;
    http_header(handle: i32, name: &str, buf: &mut [u8]) -> i32;
    http_read(handle: i32, buf: &mut [u8]) -> i32;
    shard_instance_count() -> i32;
    shard_instance_id(instance: i32, buf: &mut [u8]) -> i32;
    shard_instance_label(instance: i32, key: &str, buf: &mut [u8]) -> i32;
    shard_prev(item: i32) -> i32;
    shard_assign(item: i32, instance: i32) -> i32;
}

/// A response may be dropped after the entry, which has already closed it.
pub(crate) fn http_close(handle: i32) -> i32 {
    with_any(0, |s| s.http_close(handle))
}
