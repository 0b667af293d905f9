use crate::{case, unknown};
use std::fmt::Write;
use std::time::Duration;
use wasmjob::{Context, Error, Failure, Level, Request, Timestamp};

/// Plays the case of a simple job that the parameter names.
pub(crate) fn run(c: &Context) -> wasmjob::Result {
    let param = c.job_param();
    let (name, argument) = case(&param);
    match name {
        "ok" | "veto" | "listen" => {}
        "fail" => return Err(Failure::new("it failed")),
        "retry" => return Err(Failure::retry("again later")),
        "skip" => return Err(Failure::skip("nothing to do")),
        "code" => return Err(Failure::with_code(142, "own code")),
        "panic" => panic!("it broke"),
        "fields" => c.set_result(fields(c)?)?,
        "json" => c.set_result(c.json())?,
        "config" => c.set_result(c.config(argument).unwrap_or("-".to_string()))?,
        "utf8" => c.set_result(argument)?,
        "empty" => c.set_result("")?,
        "large" => large(c, argument.parse()?)?,
        "log" => log(),
        "stop" => stop(c)?,
        "nap" => nap(c, argument.parse()?)?,
        "progress" => c.progress(3, 4),
        "metric" => {
            c.metric("rows", 2.5)?;
            c.metric("rows", 2.5)?;
        }
        "badmetric" => {
            if c.metric("no good", 1.0) == Err(Error::Invalid) {
                c.set_result("invalid")?;
            }
        }
        _ => return granted(c, name, argument),
    }
    Ok(())
}

/// Operations that need a grant: without it, the result is the error's name.
fn granted(c: &Context, name: &str, argument: &str) -> wasmjob::Result {
    let answer = match name {
        "clock" => c.now().map(|now| now.millis().to_string()),
        "random" => random(c),
        "count" | "countfail" => count(c),
        "forget" => forget(c),
        "secret" => c.secret(argument),
        "get" => get(argument),
        "post" => post(argument),
        _ => return unknown(name),
    };
    c.set_result(answer.unwrap_or_else(|e| e.name().to_string()))?;
    match name {
        "countfail" => Err(Failure::new("not kept")),
        _ => Ok(()),
    }
}

/// All facts of the run, one `name=value` in a line.
fn fields(c: &Context) -> Result<String, std::fmt::Error> {
    let mut all = String::new();
    let moment = |t: Option<Timestamp>| t.map_or(0, Timestamp::millis);
    writeln!(all, "jobName={}", c.job_name())?;
    writeln!(all, "taskId={}", c.task_id())?;
    writeln!(all, "jobParam={}", c.job_param())?;
    writeln!(all, "itemParam={}", c.param().as_deref().unwrap_or("-"))?;
    writeln!(all, "instance={}", c.instance())?;
    writeln!(all, "namespace={}", c.namespace())?;
    writeln!(all, "digest={}", c.module_digest())?;
    writeln!(all, "seed={}", c.seed())?;
    writeln!(all, "runId={}", c.run_id())?;
    writeln!(all, "total={}", c.total())?;
    writeln!(all, "item={}", c.item())?;
    writeln!(all, "fired={}", c.fired().millis())?;
    writeln!(all, "deadline={}", moment(c.deadline()))?;
    writeln!(all, "attempt={}", c.attempt())?;
    writeln!(all, "failover={}", u8::from(c.failover()))?;
    writeln!(all, "misfire={}", u8::from(c.misfire()))?;
    writeln!(all, "hostMinor={}", c.host_minor())?;
    writeln!(all, "streaming={}", u8::from(c.streaming()))?;
    writeln!(all, "fence={}", c.fence())?;
    writeln!(all, "scheduled={}", c.scheduled().millis())?;
    writeln!(all, "fetchCount={}", c.fetch_count().unwrap_or(0))?;
    Ok(all)
}

/// Sets a result of n bytes; the host may refuse it.
fn large(c: &Context, n: usize) -> Result<(), Error> {
    match c.set_result("x".repeat(n)) {
        Err(Error::Limit) => c.set_result("limit"),
        other => other,
    }
}

/// Logs a line of each level, and a text of two lines.
fn log() {
    wasmjob::trace!("trace line");
    wasmjob::debug!("debug line");
    wasmjob::info!("info line");
    wasmjob::warn!("warn line");
    wasmjob::error!("error line");
    wasmjob::info!("two\nlines");
    wasmjob::log!(Level::Info, "end");
}

/// Computes until the run should stop, and returns why.
fn stop(c: &Context) -> Result<(), Error> {
    loop {
        if let Some(reason) = c.cancelled() {
            return c.set_result(reason.code().to_string());
        }
    }
}

/// Sleeps, and returns whether that was interrupted.
fn nap(c: &Context, ms: i64) -> wasmjob::Result {
    let end = match c.sleep(Duration::from_millis(ms.max(0) as u64)) {
        Err(Error::Cancelled) => "stopped",
        other => other.map(|()| "slept")?,
    };
    Ok(c.set_result(end)?)
}

/// 16 random bytes in hex.
fn random(c: &Context) -> Result<String, Error> {
    let mut bytes = [0; 16];
    c.random(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Adds 1 to a number in the state.
fn count(c: &Context) -> Result<String, Error> {
    let text = c.state().get_text("n")?;
    let n: u64 = text.map_or(Ok(0), |t| t.parse().map_err(|_| Error::Invalid))?;
    let next = (n + 1).to_string();
    c.state().set("n", &next)?;
    Ok(next)
}

/// Deletes a value of the state, and returns whether there was one.
fn forget(c: &Context) -> Result<String, Error> {
    let gone = c.state().delete("n")?;
    Ok(if gone { "gone" } else { "none" }.to_string())
}

/// Sends a request, and returns status and body.
fn get(url: &str) -> Result<String, Error> {
    let answer = Request::get(url).send()?;
    Ok(format!("{} {}", answer.status(), answer.text()?))
}

/// Sends a request with a header and a body, and returns status, a header and the body.
fn post(url: &str) -> Result<String, Error> {
    let request = Request::post(url).header("X-Test", "yes").body("ping");
    let answer = request.send()?;
    let echo = answer.header("X-Echo").unwrap_or("-".to_string());
    Ok(format!("{} {echo} {}", answer.status(), answer.text()?))
}
