// The guest of ../../conformance/GUEST.md, which describes each case.

import { Context, Outcome } from "wasmjob";
export { wasmjob_abi_v1 } from "wasmjob";
export { wasmjob_fetch, wasmjob_process } from "./flow";
export { wasmjob_shard } from "./deal";
import { execute } from "./execute";

export function wasmjob_execute(): Outcome { return execute(new Context()); }

export function wasmjob_before(): Outcome {
  const c = new Context();
  c.info("before");
  return c.jobParam == "veto" ? c.skip() : Outcome.Done;
}

export function wasmjob_after(): Outcome {
  const c = new Context();
  c.info("after");
  const reason = c.endedReason;
  c.info("ended " + (c.ended < 0 ? "unknown" : c.ended.toString()) + (reason.ok ? " " + reason.text : ""));
  return Outcome.Done;
}
export function wasmjob_started(): Outcome { return says("started"); }
export function wasmjob_completed(): Outcome {
  const c = new Context();
  c.info("completed");
  c.info(c.fireSucceeded < 0 ? "fire unknown" : `fire ${c.fireSucceeded} ${c.fireFailed} ${c.fireSkipped}`);
  return Outcome.Done;
}

// A listener that logs its name.
function says(name: string): Outcome {
  new Context().info(name);
  return Outcome.Done;
}
