//! Jobs and sharding strategies in Rust, for wasmjobd.
//!
//! A job is a function, and a macro that makes it an entry of the module:
//!
//! ```
//! use wasmjob::Context;
//!
//! wasmjob::simple!(run);
//!
//! fn run(c: &Context) -> wasmjob::Result {
//!     let whom = c.param().unwrap_or("world".to_string());
//!     wasmjob::info!("item {} of {}", c.item(), c.total());
//!     c.set_result(format!("hello, {whom}"))?;
//!     Ok(())
//! }
//! ```
//!
//! The crate is a `cdylib`, built for a target without an operating system:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [profile.release]
//! opt-level = "s"
//! lto = true
//! codegen-units = 1
//! panic = "abort"
//! strip = true
//! ```
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! ```
//!
//! The function runs once per item and attempt, usually in a new instance: statics are
//! lost, [`State`] is kept. `Ok` is success. Any error, also of the crate `anyhow`, fails
//! the run with its text and the texts of its causes. A [`Failure`] can request another
//! attempt, say that there was nothing to do, or set a code that the author defines. The
//! text and position of a panic reach the host.
//!
//! | macro | entry | is given |
//! |---|---|---|
//! | [`simple!`] | `run` | [`Context`] |
//! | [`dataflow!`] | `fetch`, `process` | [`Batch`], [`Elements`] |
//! | [`strategy!`] | `deal` | [`Deal`] |
//! | [`before!`], [`after!`], [`started!`], [`completed!`] | listeners | [`Context`] |
//! | none: see [`script`] | `main` | [`script::Script`] |
//!
//! A module has only the exports and the imports that it uses.
//!
//! # Tests
//!
//! On targets other than Wasm there is no host: [`fake::Host`] replaces it, so that a
//! job's logic can be tested with `cargo test` alone.
//!
//! ```
//! # use wasmjob::Context;
//! # fn run(c: &Context) -> wasmjob::Result {
//! #     c.set_result(format!("hello, {}", c.param().unwrap_or_default()))?;
//! #     Ok(())
//! # }
//! use wasmjob::fake::Host;
//!
//! let mut host = Host { item: 1, total: 3, param: Some("moon".into()), ..Host::default() };
//! host.run(run).unwrap();
//! assert_eq!(host.result_text(), "hello, moon");
//! ```
//!
//! The crate is not for programs that run modules, and has no parser for JSON.

#[cfg_attr(target_family = "wasm", allow(dead_code))] // the fake host needs them all
mod codes;
mod context;
mod dataflow;
mod deal;
mod ended;
mod entry;
mod error;
mod failure;
mod http;
mod log;
mod read;
pub mod script;
mod state;
mod timestamp;

#[cfg(not(target_family = "wasm"))]
pub mod fake;
#[cfg(target_family = "wasm")]
mod guest;
#[cfg(target_family = "wasm")]
mod imports;

#[cfg(not(target_family = "wasm"))]
use fake::calls as host;
#[cfg(target_family = "wasm")]
use guest as host;

pub use context::{Context, Stop};
pub use dataflow::{Ack, Batch, Element, Elements};
pub use deal::{Deal, Instance};
pub use ended::{Ended, Fire};
pub use entry::End;
pub use error::Error;
pub use failure::{Failure, Result};
pub use http::{Request, Response};
pub use log::{enabled, log, Level};
pub use state::State;
pub use timestamp::Timestamp;

/// Only for the macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::entry::{deal, fetch, job, process};
    pub use crate::log::log_arguments;
}
