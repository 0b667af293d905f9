//! The input of a script. A script is a WASI command: a program with `main`, built for
//! `wasm32-wasip1`. It depends on this crate with `default-features = false`, or not at
//! all.
//!
//! Its output is the result, stderr goes to the log, and its exit code says how it ended.
//!
//! ```no_run
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let script = wasmjob::script::Script::from_env()?;
//!     println!("item {} of {}", script.item, script.total);
//!     Ok(())
//! }
//! ```

use std::{env, fmt};

/// The arguments and the environment of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The name of the module.
    pub module: String,
    /// The arguments of the job.
    pub args: Vec<String>,
    /// The whole context, as JSON.
    pub context: String,
    /// The name of the job.
    pub job: String,
    /// The parameter of the job.
    pub job_param: String,
    /// The parameter of the item, if it has one.
    pub param: Option<String>,
    /// The scheduled instant, as `2026-01-01T00:00:00.000Z`; empty on a host that does
    /// not set it.
    pub scheduled: String,
    /// The item that this run is for.
    pub item: usize,
    /// The number of items of the job.
    pub total: usize,
    /// The same in every attempt of this run.
    pub run_id: String,
    /// Counts the attempts of this run from 1.
    pub attempt: usize,
    /// The fencing token: a later owner of the item has a larger one.
    pub fence: i64,
}

/// A variable or argument is missing that every host sets: the program was not started as
/// a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing or not what a host gives", self.0)
    }
}

impl std::error::Error for Missing {}

impl Script {
    /// Reads the arguments and the environment of the program.
    pub fn from_env() -> Result<Self, Missing> {
        let args = env::args_os().map(|a| a.to_string_lossy().into_owned());
        Script::read(args, |name| env::var(name).ok())
    }

    /// Reads a script's input from arguments and variables. The last argument is the
    /// context, which is a JSON object.
    fn read(
        args: impl Iterator<Item = String>,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Missing> {
        let text = |name: &str| var(name).ok_or_else(|| Missing(name.to_string()));
        let mut args = args.peekable();
        let module = args.next().unwrap_or_default();
        let mut args: Vec<String> = args.collect();
        let context = args.pop().filter(|last| last.starts_with('{'));
        Ok(Script {
            module,
            args,
            context: context.ok_or_else(|| Missing("the last argument".to_string()))?,
            job: text("WASMJOB_JOB")?,
            job_param: var("WASMJOB_JOB_PARAM").unwrap_or_default(),
            param: var("WASMJOB_ITEM_PARAM"),
            scheduled: var("WASMJOB_SCHEDULED").unwrap_or_default(),
            item: number(&text, "WASMJOB_ITEM")?,
            total: number(&text, "WASMJOB_TOTAL")?,
            run_id: text("WASMJOB_RUN_ID")?,
            attempt: number(&text, "WASMJOB_ATTEMPT")?,
            fence: number(&text, "WASMJOB_FENCE")?,
        })
    }
}

/// A number among the variables.
fn number<T: std::str::FromStr>(
    text: &impl Fn(&str) -> Result<String, Missing>,
    name: &str,
) -> Result<T, Missing> {
    text(name)?.parse().map_err(|_| Missing(name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str) -> Option<String> {
        let value = match name {
            "WASMJOB_JOB" => "report",
            "WASMJOB_JOB_PARAM" => "all",
            "WASMJOB_ITEM_PARAM" => "north",
            "WASMJOB_SCHEDULED" => "2026-01-01T00:00:00.000Z",
            "WASMJOB_ITEM" => "1",
            "WASMJOB_TOTAL" => "3",
            "WASMJOB_RUN_ID" => "report/1/5",
            "WASMJOB_ATTEMPT" => "2",
            "WASMJOB_FENCE" => "42",
            _ => return None,
        };
        Some(value.to_string())
    }

    fn args<'a>(all: &'a [&str]) -> impl Iterator<Item = String> + 'a {
        all.iter().map(|s| s.to_string())
    }

    #[test]
    fn everything_is_read() {
        let script = Script::read(args(&["m.wasm", "a", "b c", "{}"]), var).unwrap();
        let want = Script {
            module: "m.wasm".to_string(),
            args: vec!["a".to_string(), "b c".to_string()],
            context: "{}".to_string(),
            job: "report".to_string(),
            job_param: "all".to_string(),
            param: Some("north".to_string()),
            scheduled: "2026-01-01T00:00:00.000Z".to_string(),
            item: 1,
            total: 3,
            run_id: "report/1/5".to_string(),
            attempt: 2,
            fence: 42,
        };
        assert_eq!(script, want);
    }

    #[test]
    fn what_is_missing_is_named() {
        let said = |e: Missing| e.to_string();
        let e = Script::read(args(&["m.wasm", "{}"]), |name| {
            var(name).filter(|_| name != "WASMJOB_ITEM")
        });
        assert!(said(e.unwrap_err()).starts_with("WASMJOB_ITEM is"));
        let e = Script::read(args(&["m.wasm", "{}"]), |name| {
            var(name).map(|v| {
                if name == "WASMJOB_TOTAL" {
                    "x".into()
                } else {
                    v
                }
            })
        });
        assert!(said(e.unwrap_err()).starts_with("WASMJOB_TOTAL is"));
        for few in [&[][..], &["m.wasm"], &["m.wasm", "a"]] {
            let e = Script::read(args(few), var);
            assert!(said(e.unwrap_err()).starts_with("the last argument"));
        }
    }
}
