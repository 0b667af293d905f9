use crate::codes::*;
use crate::{context, host, Context};

/// How a run has ended, for the listener [`after!`](crate::after).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// It failed, and another attempt may help.
    Retryable,
    /// There was nothing to do.
    Skipped,
    /// It ended after its deadline, whatever it returned.
    Late,
    /// It failed with a code that the author defines.
    Code(i32),
}

impl Ended {
    /// The end with that number.
    fn of(code: i32) -> Self {
        match code {
            RESULT_OK => Ended::Done,
            RESULT_FAILED => Ended::Failed,
            RESULT_RETRYABLE => Ended::Retryable,
            RESULT_SKIPPED => Ended::Skipped,
            RESULT_LATE => Ended::Late,
            code => Ended::Code(code),
        }
    }

    /// The number of the end in the contract.
    pub fn code(self) -> i32 {
        match self {
            Ended::Done => RESULT_OK,
            Ended::Failed => RESULT_FAILED,
            Ended::Retryable => RESULT_RETRYABLE,
            Ended::Skipped => RESULT_SKIPPED,
            Ended::Late => RESULT_LATE,
            Ended::Code(code) => code,
        }
    }
}

/// How many items of a fire ended in which way, on all servers. An item that was
/// disabled, or whose server died, may be missing in all numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fire {
    /// The number that succeeded.
    pub succeeded: usize,
    /// The number that failed, were late, or were stopped.
    pub failed: usize,
    /// The number that had nothing to do.
    pub skipped: usize,
}

/// Only for the listener [`completed!`](crate::completed).
impl Context {
    /// How the items of the fire have ended. `None` outside of that listener, if the host
    /// does not know, and on a host whose [`host_minor`](Self::host_minor) is below 2.
    pub fn fire(&self) -> Option<Fire> {
        if host::ctx_int(FIELD_FIRE_SUCCEEDED) == NO_INT {
            return None;
        }
        Some(Fire {
            succeeded: context::count(FIELD_FIRE_SUCCEEDED),
            failed: context::count(FIELD_FIRE_FAILED),
            skipped: context::count(FIELD_FIRE_SKIPPED),
        })
    }
}

/// Only for the listener [`after!`](crate::after).
impl Context {
    /// How the run has ended. `None` outside of that listener, and on a host whose
    /// [`host_minor`](Self::host_minor) is below 2.
    pub fn ended(&self) -> Option<Ended> {
        i32::try_from(host::ctx_int(FIELD_OUTCOME))
            .ok()
            .map(Ended::of)
    }

    /// The reason that the run gave for its end, if any.
    pub fn ended_reason(&self) -> Option<String> {
        context::text(FIELD_REASON)
    }
}
