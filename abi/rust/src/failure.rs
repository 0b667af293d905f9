use crate::codes::*;
use std::error::Error as StdError;
use std::fmt;

/// The end of an entry: success, or a [`Failure`].
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Any end of an entry but success: a result code, and a reason that the host
/// records with the run.
///
/// `?` converts every error to a failure, including its causes: a
/// [`std::error::Error`], a `Box<dyn Error>`, an error of the crate `anyhow`, or
/// a text. That is possible because a failure is not itself an error. (For a
/// `Box<dyn Error + Send + Sync>` the standard library requires
/// `.map_err(|e| e as Box<dyn Error>)` before the `?`.)
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
    /// The run failed, for a reason: a text or an error, as `?` takes it, or another
    /// failure.
    pub fn new(reason: impl Into<Failure>) -> Self {
        Failure::of(RESULT_FAILED, reason)
    }

    /// The run failed, and another attempt may help.
    pub fn retry(reason: impl Into<Failure>) -> Self {
        Failure::of(RESULT_RETRYABLE, reason)
    }

    /// There was nothing to do, which the host does not count as a failure.
    pub fn skip(reason: impl Into<Failure>) -> Self {
        Failure::of(RESULT_SKIPPED, reason)
    }

    /// The run failed with a code that the author defines, which the host records. Such
    /// codes begin at 128; with a lower one this is [`Failure::new`].
    pub fn with_code(code: i32, reason: impl Into<Failure>) -> Self {
        let own = code >= RESULT_AUTHOR;
        Failure::of(if own { code } else { RESULT_FAILED }, reason)
    }

    /// A failure with that code. If the reason is itself a failure, its own code is
    /// dropped.
    fn of(code: i32, reason: impl Into<Failure>) -> Self {
        let reason = reason.into().reason;
        Failure { code, reason }
    }

    /// The result code: 1 failed, 2 retry, 3 nothing to do, or the author's.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The text that the host records.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl<'a, E: Into<Box<dyn StdError + 'a>>> From<E> for Failure {
    fn from(e: E) -> Self {
        let e: Box<dyn StdError + 'a> = e.into();
        let mut reason = e.to_string();
        let mut cause = e.source();
        while let Some(c) = cause {
            let text = c.to_string();
            // Many errors include the text of their cause.
            if !reason.ends_with(&text) {
                reason.push_str(": ");
                reason.push_str(&text);
            }
            cause = c.source();
        }
        let code = RESULT_FAILED;
        Failure { code, reason }
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

    fn told(entry: impl FnOnce() -> Result) -> Failure {
        entry().unwrap_err()
    }

    #[test]
    fn every_error_becomes_a_failure() {
        let boxed = || -> std::result::Result<(), Box<dyn StdError>> { Err(Outer(false).into()) };
        let borrowed = String::from("the text of a caller");
        #[derive(Debug)]
        struct Borrows<'a>(&'a str);
        impl fmt::Display for Borrows<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        impl StdError for Borrows<'_> {}

        assert_eq!(
            told(|| Ok(boxed()?)).reason(),
            "load: input or output failed"
        );
        assert_eq!(
            told(|| Ok(Err(Outer(false))?)).reason(),
            "load: input or output failed"
        );
        assert_eq!(told(|| Ok(Err(Borrows(&borrowed))?)).reason(), borrowed);
        assert_eq!(told(|| Ok(Err("no rows")?)).reason(), "no rows");
        assert_eq!(told(|| Ok(Err(format!("{} rows", 0))?)).reason(), "0 rows");
    }

    #[test]
    fn causes_are_told_with_every_code() {
        let io = || Outer(false);
        let boxed = || -> Box<dyn StdError> { io().into() };
        for failure in [
            Failure::new(io()),
            Failure::retry(boxed()),
            Failure::skip(Failure::from(io())),
            Failure::with_code(130, io()),
        ] {
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
