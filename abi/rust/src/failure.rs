use crate::codes::*;
use std::fmt;

/// How an entry ends: well, or with a [`Failure`].
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Any end of an entry but success: a result code, and a reason that the host
/// keeps with the run.
///
/// Every error becomes one with `?`, its causes included. It is no error
/// itself, which is what makes that possible.
///
/// ```
/// use wasmjob::{Context, Failure};
///
/// fn run(c: &Context) -> wasmjob::Result {
///     let rows: u64 = c.job_param().parse()?; // failed, with the text of the error
///     if rows == 0 {
///         return Err(Failure::skip("no rows"));
///     }
///     load(rows).map_err(Failure::retry)
/// }
/// # fn load(rows: u64) -> Result<(), wasmjob::Error> { Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: i32,
    reason: String,
}

impl Failure {
    /// The run failed.
    pub fn new(reason: impl fmt::Display) -> Self {
        Failure::of(RESULT_FAILED, reason)
    }

    /// The run failed, and another attempt may help.
    pub fn retry(reason: impl fmt::Display) -> Self {
        Failure::of(RESULT_RETRYABLE, reason)
    }

    /// There was nothing to do, which the host does not count as a failure.
    pub fn skip(reason: impl fmt::Display) -> Self {
        Failure::of(RESULT_SKIPPED, reason)
    }

    /// The run failed with a code of the author's own, which the host keeps.
    /// Own codes begin at 128; with a lower one this is [`Failure::new`].
    pub fn with_code(code: i32, reason: impl fmt::Display) -> Self {
        let own = code >= RESULT_AUTHOR;
        Failure::of(if own { code } else { RESULT_FAILED }, reason)
    }

    fn of(code: i32, reason: impl fmt::Display) -> Self {
        Failure {
            code,
            reason: reason.to_string(),
        }
    }

    /// The result code: 1 failed, 2 try again, 3 nothing to do, or the author's.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The text that the host keeps.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(e: E) -> Self {
        let mut reason = e.to_string();
        let mut cause = e.source();
        while let Some(c) = cause {
            let text = c.to_string();
            // Many errors tell of their cause themselves.
            if !reason.ends_with(&text) {
                reason.push_str(": ");
                reason.push_str(&text);
            }
            cause = c.source();
        }
        Failure::new(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn codes() {
        for (failure, code) in [
            (Failure::new("r"), 1),
            (Failure::retry("r"), 2),
            (Failure::skip("r"), 3),
            (Failure::with_code(128, "r"), 128),
            (Failure::with_code(127, "r"), 1),
            (Failure::with_code(-1, "r"), 1),
        ] {
            assert_eq!((failure.code(), failure.reason()), (code, "r"));
        }
    }

    #[derive(Debug)]
    struct Outer(bool);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                true => write!(f, "load: {}", Error::Io),
                false => write!(f, "load"),
            }
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&Error::Io)
        }
    }

    #[test]
    fn causes_are_told_once() {
        for says_it_itself in [true, false] {
            let failure = Failure::from(Outer(says_it_itself));
            assert_eq!(failure.reason(), "load: input or output failed");
        }
    }

    #[test]
    fn errors_keep_their_codes() {
        for code in -11..0 {
            let e = Error::of(code);
            assert_eq!(e.code(), code);
            assert!(!matches!(e, Error::Other(_)), "{code}");
            assert_eq!(Error::check(code), Err(e));
        }
        assert_eq!(Error::of(-12), Error::Other(-12));
        assert_eq!(Error::check(7), Ok(7));
    }
}
