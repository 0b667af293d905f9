use crate::codes::*;
use crate::{host, read, Error, State, Timestamp};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// A job's view of its run. It is valid only during the entry.
pub struct Context {
    // The host serves only the thread that it has called.
    here: PhantomData<*const ()>,
}

/// Why a run should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The deadline has passed.
    Deadline,
    /// The server shuts down.
    Shutdown,
    /// The job was disabled.
    Disabled,
    /// The items are being assigned anew.
    Resharding,
    /// The server lost its session: another one may own the item soon.
    SessionLost,
    /// A reason that is newer than this crate.
    Other(i32),
}

impl Stop {
    /// The reason with that number; `None` if the run should go on.
    pub(crate) fn of(code: i32) -> Option<Self> {
        Some(match code {
            STOP_NONE => return None,
            STOP_DEADLINE => Stop::Deadline,
            STOP_SHUTDOWN => Stop::Shutdown,
            STOP_DISABLED => Stop::Disabled,
            STOP_RESHARDING => Stop::Resharding,
            STOP_SESSION_LOST => Stop::SessionLost,
            other => Stop::Other(other),
        })
    }

    /// The number of the reason in the contract.
    pub fn code(self) -> i32 {
        match self {
            Stop::Deadline => STOP_DEADLINE,
            Stop::Shutdown => STOP_SHUTDOWN,
            Stop::Disabled => STOP_DISABLED,
            Stop::Resharding => STOP_RESHARDING,
            Stop::SessionLost => STOP_SESSION_LOST,
            Stop::Other(code) => code,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Deadline => "the deadline has passed",
            Stop::Shutdown => "the server shuts down",
            Stop::Disabled => "the job was disabled",
            Stop::Resharding => "the items are being dealt out anew",
            Stop::SessionLost => "the server lost its session",
            Stop::Other(code) => return write!(f, "reason {code}"),
        })
    }
}

/// A text field, if it has a value.
pub(crate) fn text(field: i32) -> Option<String> {
    read::text(&mut |buf| host::ctx_str(field, buf)).ok()
}

/// A number field.
pub(crate) fn number(field: i32) -> i64 {
    match host::ctx_int(field) {
        NO_INT => 0, // the host is older than the field
        n => n,
    }
}

/// A number field that is never negative.
pub(crate) fn count(field: i32) -> usize {
    usize::try_from(number(field)).unwrap_or(0)
}

/// A setting of the job's table `config`, if it is set.
pub(crate) fn config(key: &str) -> Option<String> {
    read::text(&mut |buf| host::config_get(key, buf)).ok()
}

/// Facts about the run.
impl Context {
    pub(crate) fn new() -> Self {
        Context { here: PhantomData }
    }

    /// The name of the job.
    pub fn job_name(&self) -> String {
        text(FIELD_JOB_NAME).unwrap_or_default()
    }

    /// ElasticJob's id of this fire on this server.
    pub fn task_id(&self) -> String {
        text(FIELD_TASK_ID).unwrap_or_default()
    }

    /// The parameter of the job.
    pub fn job_param(&self) -> String {
        text(FIELD_JOB_PARAM).unwrap_or_default()
    }

    /// The parameter of the item, if it has one.
    pub fn param(&self) -> Option<String> {
        text(FIELD_SHARDING_PARAM)
    }

    /// The id of the instance that runs the job.
    pub fn instance(&self) -> String {
        text(FIELD_INSTANCE_ID).unwrap_or_default()
    }

    /// The namespace of the registry.
    pub fn namespace(&self) -> String {
        text(FIELD_NAMESPACE).unwrap_or_default()
    }

    /// The sha256 of this module, in hex.
    pub fn module_digest(&self) -> String {
        text(FIELD_MODULE_DIGEST).unwrap_or_default()
    }

    /// Hex digits that differ between runs and items, but not between attempts.
    pub fn seed(&self) -> String {
        text(FIELD_SEED).unwrap_or_default()
    }

    /// The same in every attempt of this run: a key for effects that must happen only
    /// once.
    pub fn run_id(&self) -> String {
        text(FIELD_RUN_ID).unwrap_or_default()
    }

    /// The item that this run is for, from 0 to [`total`](Self::total) - 1.
    pub fn item(&self) -> usize {
        count(FIELD_SHARDING_ITEM)
    }

    /// The number of items of the job.
    pub fn total(&self) -> usize {
        count(FIELD_SHARDING_TOTAL)
    }

    /// The instant that the run is for, which may be long past.
    pub fn scheduled(&self) -> Timestamp {
        Timestamp::from_millis(number(FIELD_SCHEDULED_TIME))
    }

    /// When this attempt began; without a granted clock, the same as
    /// [`scheduled`](Self::scheduled).
    pub fn fired(&self) -> Timestamp {
        Timestamp::from_millis(number(FIELD_FIRE_TIME))
    }

    /// When the run should be over, if there is a deadline.
    pub fn deadline(&self) -> Option<Timestamp> {
        match number(FIELD_DEADLINE) {
            0 => None,
            ms => Some(Timestamp::from_millis(ms)),
        }
    }

    /// Counts the attempts of this run from 1.
    pub fn attempt(&self) -> usize {
        count(FIELD_ATTEMPT)
    }

    /// Whether the item was taken over from another server.
    pub fn failover(&self) -> bool {
        number(FIELD_FAILOVER) != 0
    }

    /// Whether the run is for instants that were missed.
    pub fn misfire(&self) -> bool {
        number(FIELD_MISFIRE) != 0
    }

    /// Whether the job is a streaming dataflow job.
    pub fn streaming(&self) -> bool {
        number(FIELD_STREAMING) != 0
    }

    /// The fencing token: a later owner of the item has a larger one, so a
    /// store that remembers the largest can refuse late writes.
    pub fn fence(&self) -> i64 {
        number(FIELD_FENCE)
    }

    /// How many elements the job wants in a batch, if it sets that.
    pub fn fetch_count(&self) -> Option<usize> {
        Some(count(FIELD_FETCH_COUNT)).filter(|&n| n > 0)
    }

    /// The number of additions to version 1 of the contract that the host has.
    pub fn host_minor(&self) -> usize {
        count(FIELD_HOST_MINOR)
    }

    /// The whole context as ElasticJob gives it to script jobs, with an additional part
    /// of this host. This crate has no parser for it.
    pub fn json(&self) -> String {
        read::text(&mut |buf| host::ctx_json(buf)).unwrap_or_default()
    }

    /// A setting of the job's table `config`, if it is set.
    pub fn config(&self, key: &str) -> Option<String> {
        config(key)
    }
}

/// Reports to the host.
impl Context {
    /// Sets the result of the run; a later call replaces it. [`Error::Limit`], changing
    /// nothing, if it is too long.
    pub fn set_result(&self, value: impl AsRef<[u8]>) -> Result<(), Error> {
        Error::check(host::result_set(value.as_ref())).map(drop)
    }

    /// Shows how far the run is.
    pub fn progress(&self, done: u64, total: u64) {
        let signed = |n| i64::try_from(n).unwrap_or(i64::MAX);
        host::progress(signed(done), signed(total));
    }

    /// Adds to a sum that is recorded with the run. [`Error::Invalid`] for a name that is
    /// not 1 to 64 letters, digits, `_`, `.` or `-`, or a value that is not finite;
    /// [`Error::Limit`] beyond 64 names.
    pub fn metric(&self, name: &str, value: f64) -> Result<(), Error> {
        Error::check(host::metric_add(name, value)).map(drop)
    }

    /// Why the run should stop, if it should. A long job checks this regularly and
    /// returns; otherwise it is ended after its grace period.
    pub fn cancelled(&self) -> Option<Stop> {
        Stop::of(host::cancelled())
    }

    /// Waits; [`Error::Cancelled`] as soon as the run should stop.
    pub fn sleep(&self, time: Duration) -> Result<(), Error> {
        let mut left = time.as_micros().div_ceil(1000);
        loop {
            let part = left.min(i32::MAX as u128);
            Error::check(host::sleep_ms(part as i32))?;
            left -= part;
            if left == 0 {
                return Ok(());
            }
        }
    }
}

/// Operations that need a grant; without it, [`Error::Denied`].
impl Context {
    /// The time. Grant: `clock`.
    pub fn now(&self) -> Result<Timestamp, Error> {
        match host::now_unix_ms() {
            ms if ms < 0 => Err(Error::of(ms as i32)),
            ms => Ok(Timestamp::from_millis(ms)),
        }
    }

    /// Fills a buffer with random bytes. Grant: `random`.
    pub fn random(&self, buf: &mut [u8]) -> Result<(), Error> {
        const AT_ONCE: usize = 64 << 10;
        if buf.is_empty() {
            return Error::check(host::random(buf)).map(drop);
        }
        for part in buf.chunks_mut(AT_ONCE) {
            Error::check(host::random(part))?;
        }
        Ok(())
    }

    /// A secret of the job, as text. [`Error::Invalid`] if it is not UTF-8.
    /// Grant: `secrets`.
    ///
    /// An HTTP request needs none: see [`Request::header`](crate::Request::header).
    pub fn secret(&self, name: &str) -> Result<String, Error> {
        String::from_utf8(self.secret_bytes(name)?).map_err(|_| Error::Invalid)
    }

    /// A secret of the job. Grant: `secrets`.
    pub fn secret_bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        read::bytes(&mut |buf| host::secret_get(name, buf))
    }

    /// The state of the item, which is kept from run to run. Grant: `state`.
    pub fn state(&self) -> State<'_> {
        State::new(self)
    }
}
