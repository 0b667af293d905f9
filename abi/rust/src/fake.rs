//! A host for tests, so that a job's logic runs under `cargo test`.
//!
//! Set the input of the job in a [`Host`], run the job on it, and check its
//! output. As with a real host, only what is set is granted, and changes of the
//! state by a failed run are discarded. A panic of the job is a panic of the
//! test.
//!
//! ```
//! use std::collections::BTreeMap;
//! use wasmjob::fake::{Answer, Host};
//! use wasmjob::{Context, Failure, Request};
//!
//! fn probe(c: &Context) -> wasmjob::Result {
//!     let status = Request::get("https://example.org/").send()?.status();
//!     c.state().set("last", status.to_string())?;
//!     match status {
//!         200 => Ok(()),
//!         other => Err(Failure::retry(format!("status {other}"))),
//!     }
//! }
//!
//! let mut host = Host {
//!     state: Some(BTreeMap::new()),
//!     http: Some(Box::new(|_| Ok(Answer { status: 503, ..Answer::default() }))),
//!     ..Host::default()
//! };
//! assert_eq!(host.run(probe), Err(Failure::retry("status 503")));
//! assert!(host.state.unwrap().is_empty());
//! ```
//!
//! The only limit of size and number is [`Host::max_result`]. Each test thread
//! has its own host.

pub(crate) mod calls;
mod deal;
mod flow;
mod http;
mod serve;
#[cfg(test)]
mod tests;

pub use deal::Instance;
pub use flow::Flow;
pub use http::{Answer, Sent, Server};

use crate::{Ack, Context, End, Ended, Failure, Fire, Level, Stop, Timestamp};
use serve::{Phase, Served};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// The input and the output of a job.
#[allow(missing_docs)] // the fields are the methods of Context
pub struct Host {
    pub job_name: String,
    pub task_id: String,
    pub job_param: String,
    pub param: Option<String>,
    pub instance: String,
    pub namespace: String,
    pub module_digest: String,
    pub seed: String,
    pub run_id: String,
    pub item: usize,
    pub total: usize,
    pub scheduled: Timestamp,
    pub fired: Timestamp,
    pub deadline: Option<Timestamp>,
    pub attempt: usize,
    pub failover: bool,
    pub misfire: bool,
    pub streaming: bool,
    pub fence: i64,
    pub fetch_count: Option<usize>,
    pub json: String,
    pub config: BTreeMap<String, String>,
    pub ended: Option<Ended>,
    pub ended_reason: Option<String>,
    pub fire: Option<Fire>,

    /// Called by [`Context::cancelled`], and between batches.
    pub stop: Option<Box<dyn FnMut() -> Option<Stop>>>,
    /// The maximum length of a result.
    pub max_result: usize,
    /// The lowest level that is logged.
    pub level: Level,

    /// The clock, if it is granted; a sleep advances it.
    pub clock: Option<Timestamp>,
    /// The seed of random bytes, if they are granted.
    pub random: Option<u64>,
    /// The state of the item, if it is granted.
    pub state: Option<BTreeMap<String, Vec<u8>>>,
    /// The granted secrets.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// Handles HTTP requests, if they are granted.
    pub http: Option<Server>,

    /// The batch that [`Host::fetch`] fills and [`Host::process`] handles.
    pub batch: Vec<Vec<u8>>,
    /// The outcomes that the last process has set, by index.
    pub acks: Vec<Option<Ack>>,
    /// The counts of the last [`Host::dataflow`].
    pub flow: Flow,

    /// The instances that a strategy assigns items to.
    pub instances: Vec<Instance>,
    /// The instances that own the items now, by item.
    pub owners: Vec<Option<usize>>,

    pub result: Option<Vec<u8>>,
    pub logs: Vec<(Level, String)>,
    pub progress: Option<(u64, u64)>,
    pub metrics: BTreeMap<String, f64>,
    /// The total time that the job slept.
    pub slept: Duration,
}

impl Default for Host {
    fn default() -> Self {
        Host {
            job_name: "job".to_string(),
            task_id: String::new(),
            job_param: String::new(),
            param: None,
            instance: String::new(),
            namespace: String::new(),
            module_digest: String::new(),
            seed: "5eed".to_string(),
            run_id: "job/0/0".to_string(),
            item: 0,
            total: 1,
            scheduled: Timestamp::default(),
            fired: Timestamp::default(),
            deadline: None,
            attempt: 1,
            failover: false,
            misfire: false,
            streaming: false,
            fence: 1,
            fetch_count: None,
            json: "{}".to_string(),
            config: BTreeMap::new(),
            ended: None,
            ended_reason: None,
            fire: None,
            stop: None,
            max_result: 1 << 20,
            level: Level::Trace,
            clock: None,
            random: None,
            state: None,
            secrets: BTreeMap::new(),
            http: None,
            batch: Vec::new(),
            acks: Vec::new(),
            flow: Flow::default(),
            instances: Vec::new(),
            owners: Vec::new(),
            result: None,
            logs: Vec::new(),
            progress: None,
            metrics: BTreeMap::new(),
            slept: Duration::ZERO,
        }
    }
}

thread_local! {
    /// The host that runs an entry on this thread.
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

impl Host {
    /// Runs the entry of a simple job, or a listener.
    pub fn run<R: End>(&mut self, entry: impl FnOnce(&Context) -> R) -> Result<(), Failure> {
        self.enter(Phase::Run, || entry(&Context::new()).end())
    }

    /// The result as text.
    pub fn result_text(&self) -> String {
        String::from_utf8_lossy(self.result.as_deref().unwrap_or_default()).into_owned()
    }

    /// Directs this thread's host calls to this host while an entry runs.
    fn enter(
        &mut self,
        phase: Phase,
        entry: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let before = self.state.clone();
        let place = Place::take(self, phase);
        let end = entry();
        drop(place);
        if end.is_err() {
            self.state = before;
        }
        end
    }
}

/// Makes a host current, and restores the previous state even if the entry panics.
struct Place<'a> {
    host: &'a mut Host,
    outer: Option<Served>,
}

impl<'a> Place<'a> {
    /// Puts the host where this thread's host calls find it.
    fn take(host: &'a mut Host, phase: Phase) -> Self {
        let served = Served::new(std::mem::take(host), phase);
        let outer = SERVED.with(|s| s.replace(Some(served)));
        Place { host, outer }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let served = SERVED.with(|s| s.replace(self.outer.take()));
        if let Some(served) = served {
            *self.host = served.host;
        }
    }
}
