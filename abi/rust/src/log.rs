use crate::codes::*;
use crate::host;
use std::fmt;

/// The importance of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum Level {
    /// Every step.
    Trace = LEVEL_TRACE,
    /// Helps to find a fault.
    Debug = LEVEL_DEBUG,
    /// Of general interest.
    Info = LEVEL_INFO,
    /// Something unusual.
    Warn = LEVEL_WARN,
    /// An error. It does not fail the run.
    Error = LEVEL_ERROR,
}

/// Writes a line to the host's log.
pub fn log(level: Level, line: &str) {
    host::log(level as i32, line);
}

/// Whether lines of the level are logged. The macros check this before they format.
pub fn enabled(level: Level) -> bool {
    level as i32 >= host::log_level()
}

#[doc(hidden)]
pub fn log_arguments(level: Level, line: fmt::Arguments<'_>) {
    if !enabled(level) {
        return;
    }
    match line.as_str() {
        Some(text) => log(level, text),
        None => log(level, &line.to_string()),
    }
}

/// Formats and writes a line if its level is logged.
#[macro_export]
macro_rules! log {
    ($level:expr, $($line:tt)+) => { $crate::__private::log_arguments($level, ::std::format_args!($($line)+)) };
}

/// Formats and writes a line at [`Level::Trace`].
#[macro_export]
macro_rules! trace { ($($line:tt)+) => { $crate::log!($crate::Level::Trace, $($line)+) }; }

/// Formats and writes a line at [`Level::Debug`].
#[macro_export]
macro_rules! debug { ($($line:tt)+) => { $crate::log!($crate::Level::Debug, $($line)+) }; }

/// Formats and writes a line at [`Level::Info`].
#[macro_export]
macro_rules! info { ($($line:tt)+) => { $crate::log!($crate::Level::Info, $($line)+) }; }

/// Formats and writes a line at [`Level::Warn`].
#[macro_export]
macro_rules! warn { ($($line:tt)+) => { $crate::log!($crate::Level::Warn, $($line)+) }; }

/// Formats and writes a line at [`Level::Error`].
#[macro_export]
macro_rules! error { ($($line:tt)+) => { $crate::log!($crate::Level::Error, $($line)+) }; }
