// The cases of a simple job.

import { Code, Context, Outcome, Request, Stop, Value } from "wasmjob";

// Plays the case that the parameter names: name or name:argument.
export function execute(c: Context): Outcome {
  const param = c.jobParam;
  const colon = param.indexOf(":");
  const name = colon < 0 ? param : param.slice(0, colon);
  const argument = colon < 0 ? "" : param.slice(colon + 1);

  if (name == "ok" || name == "veto" || name == "listen") return Outcome.Done;
  if (name == "fail") return c.fail("it failed");
  if (name == "retry") return c.retry("again later");
  if (name == "skip") return c.skip();
  if (name == "code") return c.fail("own code", 142);
  if (name == "panic") throw new Error("it broke");
  if (name == "fields") return answer(c, fields(c));
  if (name == "json") return answer(c, c.json);
  if (name == "config") return answer(c, c.config(argument).or("-"));
  if (name == "utf8") return answer(c, argument);
  if (name == "empty") return answer(c, "");
  if (name == "large") return large(c, I32.parseInt(argument));
  if (name == "log") return log(c);
  if (name == "stop") return stop(c);
  if (name == "nap") return answer(c, c.sleep(I32.parseInt(argument)) == Code.Cancelled ? "stopped" : "slept");
  if (name == "progress") return progress(c);
  if (name == "metric") return metric(c);
  if (name == "badmetric") return answer(c, c.metric("no good", 1) == Code.Invalid ? "invalid" : "kept");
  if (name == "clock") return answer(c, c.now == <i64>Code.Denied ? "denied" : c.now.toString());
  if (name == "random") return random(c);
  if (name == "count") return count(c);
  if (name == "countfail") {
    count(c);
    return c.fail("not kept");
  }
  if (name == "forget") return answer(c, c.state.delete("n") == Code.NotFound ? "none" : "gone");
  if (name == "secret") return answer(c, orError(c.secret(argument)));
  if (name == "get") return get(c, argument);
  if (name == "post") return post(c, argument);
  return c.fail("there is no case " + name);
}

// Sets the result and succeeds.
function answer(c: Context, text: string): Outcome {
  c.result(text);
  return Outcome.Done;
}

// The value, or the name of the error.
function orError(v: Value): string { return v.ok ? v.text : v.error; }

function bit(b: bool): string { return b ? "1" : "0"; }

// All facts of the run, one name=value in a line.
function fields(c: Context): string {
  return [
    "jobName=" + c.jobName, "taskId=" + c.taskId, "jobParam=" + c.jobParam, "itemParam=" + c.param.or("-"),
    "instance=" + c.instance, "namespace=" + c.namespace, "digest=" + c.moduleDigest, "seed=" + c.seed, "runId=" + c.runId,
    "total=" + c.total.toString(), "item=" + c.item.toString(), "fired=" + c.fired.toString(), "deadline=" + c.deadline.toString(),
    "attempt=" + c.attempt.toString(), "failover=" + bit(c.failover), "misfire=" + bit(c.misfire),
    "hostMinor=" + c.hostMinor.toString(), "streaming=" + bit(c.streaming), "fence=" + c.fence.toString(),
    "scheduled=" + c.scheduled.toString(), "fetchCount=" + c.fetchCount.toString(),
  ].join("\n");
}

// Sets a result of that size; the host may refuse it.
function large(c: Context, size: i32): Outcome {
  if (c.result(new Uint8Array(size).fill(0x78)) == Code.Limit) c.result("limit");
  return Outcome.Done;
}

function log(c: Context): Outcome {
  c.trace("trace line");
  c.debug("debug line");
  c.info("info line");
  c.warn("warn line");
  c.error("error line");
  c.info("two\nlines");
  c.info("end");
  return Outcome.Done;
}

// Computes until the run should stop, and returns why.
function stop(c: Context): Outcome {
  let reason: Stop;
  while ((reason = c.cancelled) == Stop.None) {}
  return answer(c, (<i32>reason).toString());
}

function progress(c: Context): Outcome {
  c.progress(3, 4);
  return Outcome.Done;
}

function metric(c: Context): Outcome {
  c.metric("rows", 2.5);
  c.metric("rows", 2.5);
  return Outcome.Done;
}

function random(c: Context): Outcome {
  const v = c.random(16);
  if (!v.ok) return answer(c, v.error);
  const bytes = v.bytes;
  let hex = "";
  for (let i = 0; i < bytes.length; i++) hex += (<u32>bytes[i]).toString(16).padStart(2, "0");
  return answer(c, hex);
}

// Adds 1 to a number in the state.
function count(c: Context): Outcome {
  const n = c.state.get("n");
  if (n.code == Code.Denied) return answer(c, n.error);
  const next = (I64.parseInt(n.or("0")) + 1).toString();
  c.state.set("n", next);
  return answer(c, next);
}

function get(c: Context, url: string): Outcome {
  const r = new Request("GET", url).send();
  const status = r.status.toString();
  const body = r.body();
  return answer(c, body.ok ? status + " " + body.text : body.error);
}

function post(c: Context, url: string): Outcome {
  const r = new Request("POST", url).header("X-Test", "yes").body("ping").send();
  if (!r.ok) return answer(c, r.error);
  const echo = r.header("X-Echo").or("-");
  return answer(c, r.status.toString() + " " + echo + " " + orError(r.body()));
}
