use crate::codes::*;
use std::{fmt, io};

/// An error code of the host.
///
/// It is a [`std::error::Error`], so `?` turns it into a [`Failure`](crate::Failure).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The host knows no such field.
    UnknownField,
    /// The job is not granted this.
    Denied,
    /// There is no such value.
    NotFound,
    /// An argument is invalid.
    Invalid,
    /// A size, a count or a rate is exceeded.
    Limit,
    /// The run is being stopped.
    Cancelled,
    /// It took too long.
    Timeout,
    /// Input or output failed.
    Io,
    /// Another caller was first.
    Conflict,
    /// It must not be called now.
    WrongPhase,
    /// A fault of the host.
    Internal,
    /// A code that is newer than this crate.
    Other(i32),
}

impl Error {
    /// The error with that number.
    pub(crate) fn of(code: i32) -> Self {
        match code {
            ERR_UNKNOWN_FIELD => Error::UnknownField,
            ERR_DENIED => Error::Denied,
            ERR_NOT_FOUND => Error::NotFound,
            ERR_INVALID => Error::Invalid,
            ERR_LIMIT => Error::Limit,
            ERR_CANCELLED => Error::Cancelled,
            ERR_TIMEOUT => Error::Timeout,
            ERR_IO => Error::Io,
            ERR_CONFLICT => Error::Conflict,
            ERR_WRONG_PHASE => Error::WrongPhase,
            ERR_INTERNAL => Error::Internal,
            _ => Error::Other(code),
        }
    }

    /// Converts the result of a host function: a length or a number, or an error.
    pub(crate) fn check(answer: i32) -> Result<usize, Self> {
        usize::try_from(answer).map_err(|_| Error::of(answer))
    }

    /// The number of the error in the contract.
    pub fn code(self) -> i32 {
        match self {
            Error::UnknownField => ERR_UNKNOWN_FIELD,
            Error::Denied => ERR_DENIED,
            Error::NotFound => ERR_NOT_FOUND,
            Error::Invalid => ERR_INVALID,
            Error::Limit => ERR_LIMIT,
            Error::Cancelled => ERR_CANCELLED,
            Error::Timeout => ERR_TIMEOUT,
            Error::Io => ERR_IO,
            Error::Conflict => ERR_CONFLICT,
            Error::WrongPhase => ERR_WRONG_PHASE,
            Error::Internal => ERR_INTERNAL,
            Error::Other(code) => code,
        }
    }

    /// The error in one word, for a label or a comparison.
    pub fn name(self) -> &'static str {
        match self {
            Error::UnknownField => "unknown-field",
            Error::Denied => "denied",
            Error::NotFound => "not-found",
            Error::Invalid => "invalid",
            Error::Limit => "limit",
            Error::Cancelled => "cancelled",
            Error::Timeout => "timeout",
            Error::Io => "io",
            Error::Conflict => "conflict",
            Error::WrongPhase => "wrong-phase",
            Error::Internal => "internal",
            Error::Other(_) => "other",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::UnknownField => "the host knows no such field",
            Error::Denied => "the job is not granted this",
            Error::NotFound => "there is no such value",
            Error::Invalid => "an argument makes no sense",
            Error::Limit => "a limit of the job is exceeded",
            Error::Cancelled => "the run is being stopped",
            Error::Timeout => "it took too long",
            Error::Io => "input or output failed",
            Error::Conflict => "somebody else was first",
            Error::WrongPhase => "it may not be called now",
            Error::Internal => "the host made a mistake",
            Error::Other(code) => return write!(f, "the host answered {code}"),
        })
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(e: Error) -> Self {
        let kind = match e {
            Error::Denied => io::ErrorKind::PermissionDenied,
            Error::NotFound => io::ErrorKind::NotFound,
            Error::Invalid => io::ErrorKind::InvalidInput,
            Error::Timeout => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, e)
    }
}
