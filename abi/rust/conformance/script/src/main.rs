//! The script with which the conformance kit checks this SDK; see
//! `abi/conformance/GUEST.md`.

use std::process::ExitCode;
use wasmjob::script::{Missing, Script};

fn main() -> Result<ExitCode, Missing> {
    let script = Script::from_env()?;
    match script.args.first().map(String::as_str) {
        Some("context") => println!("{}", script.context),
        Some("env") => println!("{} {}", script.job, script.item),
        Some("fail") => {
            eprintln!("bad luck");
            return Ok(ExitCode::from(3));
        }
        other => {
            eprintln!("no case {other:?}");
            return Ok(ExitCode::from(64));
        }
    }
    Ok(ExitCode::SUCCESS)
}
