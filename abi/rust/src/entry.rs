use crate::codes::*;
use crate::{host, Batch, Context, Deal, Elements, Failure};

/// What an entry may return: nothing, or a `Result` with any error.
pub trait End {
    #[doc(hidden)]
    fn end(self) -> Result<(), Failure>;
}

impl End for () {
    fn end(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<Failure>> End for Result<(), E> {
    fn end(self) -> Result<(), Failure> {
        self.map_err(Into::into)
    }
}

/// Runs an entry, passes the reason to the host, and returns the result code.
fn enter<R: End>(entry: impl FnOnce() -> R) -> i32 {
    #[cfg(target_family = "wasm")]
    host::catch_panics();
    match entry().end() {
        Ok(()) => RESULT_OK,
        Err(failure) => {
            if !failure.reason().is_empty() {
                host::error_set(failure.reason());
            }
            failure.code()
        }
    }
}

/// Runs the entry of a simple job, or a listener.
pub fn job<R: End>(f: impl FnOnce(&Context) -> R) -> i32 {
    enter(|| f(&Context::new()))
}

/// Runs fetch of a dataflow job.
pub fn fetch<R: End>(f: impl FnOnce(&mut Batch) -> R) -> i32 {
    enter(|| f(&mut Batch::new()))
}

/// Runs process of a dataflow job.
pub fn process<R: End>(f: impl FnOnce(&Elements) -> R) -> i32 {
    enter(|| f(&Elements::new()))
}

/// Runs a strategy.
pub fn deal<R: End>(f: impl FnOnce(&mut Deal) -> R) -> i32 {
    enter(|| f(&mut Deal::new()))
}

/// Marks the version of the contract that the module uses; never called. It is not in a
/// macro, so that a module has it only once.
#[cfg(all(target_family = "wasm", feature = "reactor"))]
#[unsafe(no_mangle)]
extern "C" fn wasmjob_abi_v1() {}

#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($name:literal, $enter:ident, $f:expr) => {
        const _: () = {
            // On other targets it is only type-checked, for tests.
            #[allow(dead_code)]
            #[cfg_attr(target_family = "wasm", unsafe(export_name = $name))]
            extern "C" fn entry() -> i32 {
                $crate::__private::$enter($f)
            }
        };
    };
}

/// Makes a function the entry of a simple job: `fn(&Context) -> Result`.
#[macro_export]
macro_rules! simple {
    ($run:expr) => {
        $crate::__export!("wasmjob_execute", job, $run);
    };
}

/// Makes two functions the entries of a dataflow job:
/// `fn(&mut Batch) -> Result` and `fn(&Elements) -> Result`.
#[macro_export]
macro_rules! dataflow {
    ($fetch:expr, $process:expr) => {
        $crate::__export!("wasmjob_fetch", fetch, $fetch);
        $crate::__export!("wasmjob_process", process, $process);
    };
}

/// Makes a function a sharding strategy: `fn(&mut Deal) -> Result`.
#[macro_export]
macro_rules! strategy {
    ($deal:expr) => {
        $crate::__export!("wasmjob_shard", deal, $deal);
    };
}

/// Makes a function a listener that is called before the entry of each run: `fn(&Context)
/// -> Result`. If it does not succeed, the run ends with its result.
///
/// In a dataflow job it runs once, in the instance of fetch. It does not run in other
/// instances that process gets, with `concurrency` or after a trap: prepare what each
/// instance needs on first use, as [`LazyLock`](std::sync::LazyLock) does.
#[macro_export]
macro_rules! before {
    ($f:expr) => {
        $crate::__export!("wasmjob_before", job, $f);
    };
}

/// Makes a function a listener that is called after the entry of each run, unless that
/// trapped: `fn(&Context) -> Result`. [`Context::ended`](crate::Context::ended) says how
/// the run has ended.
#[macro_export]
macro_rules! after {
    ($f:expr) => {
        $crate::__export!("wasmjob_after", job, $f);
    };
}

/// Makes a function a listener that is called once per fire, on one server,
/// when every item has begun: `fn(&Context) -> Result`.
#[macro_export]
macro_rules! started {
    ($f:expr) => {
        $crate::__export!("wasmjob_started", job, $f);
    };
}

/// Makes a function a listener that is called once per fire, on one server, when every
/// item has ended: `fn(&Context) -> Result`. [`Context::fire`](crate::Context::fire) says
/// how they have ended.
#[macro_export]
macro_rules! completed {
    ($f:expr) => {
        $crate::__export!("wasmjob_completed", job, $f);
    };
}
