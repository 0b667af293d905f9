//! The module with which the conformance kit checks this SDK; see
//! `abi/conformance/GUEST.md`. The parameter of the job selects the case: `name` or
//! `name:argument`.

mod deal;
mod execute;
mod flow;
#[cfg(test)]
mod tests;

use wasmjob::{Context, Failure};

wasmjob::simple!(execute::run);
wasmjob::dataflow!(flow::fetch, flow::process);
wasmjob::strategy!(deal::deal);
wasmjob::before!(before);
wasmjob::after!(after);
wasmjob::started!(|_: &Context| wasmjob::info!("started"));
wasmjob::completed!(completed);

/// Logs that it was called, and declines the run in the case `veto`.
fn before(c: &Context) -> wasmjob::Result {
    wasmjob::info!("before");
    match c.job_param().as_str() {
        "veto" => Err(Failure::skip("vetoed")),
        _ => Ok(()),
    }
}

/// Logs how the run has ended.
fn after(c: &Context) {
    wasmjob::info!("after");
    let ended = c.ended().map_or("unknown".into(), |e| e.code().to_string());
    match c.ended_reason() {
        Some(reason) => wasmjob::info!("ended {ended} {reason}"),
        None => wasmjob::info!("ended {ended}"),
    }
}

/// Logs how many items have ended in which way.
fn completed(c: &Context) {
    wasmjob::info!("completed");
    match c.fire() {
        Some(f) => wasmjob::info!("fire {} {} {}", f.succeeded, f.failed, f.skipped),
        None => wasmjob::info!("fire unknown"),
    }
}

/// Splits the parameter of the job.
fn case(param: &str) -> (&str, &str) {
    param.split_once(':').unwrap_or((param, ""))
}

/// Fails a case that this guest does not have.
fn unknown(case: &str) -> wasmjob::Result {
    Err(Failure::new(format!("no case {case:?}")))
}
