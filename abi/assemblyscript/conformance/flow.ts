// The cases of a dataflow job.

import { Ack, Batch, Fetch, Outcome } from "wasmjob";

// Counts the calls of fetch, which all happen in one instance.
let fetched = 0;

// Fills a batch for the case. In the case flow each batch is one smaller.
export function wasmjob_fetch(): Outcome {
  const f = new Fetch();
  const param = f.jobParam;
  const before = fetched++;
  if (param.startsWith("flow:")) return add(f, 0, I32.parseInt(param.slice(5)) - before);
  if (param == "offset") return offset(f);
  if (before > 0) return f.skip();
  return add(f, 0, param == "flowack" ? 3 : 1);
}

// Adds the elements e0, e1 and so on.
function add(f: Fetch, from: i32, to: i32): Outcome {
  for (let i = from; i < to; i++) {
    if (f.add("e" + i.toString()) < 0) return f.fail("the batch is full");
  }
  return Outcome.Done;
}

// Adds up to three numbers below 7, from where the last batch ended.
function offset(f: Fetch): Outcome {
  const from = I32.parseInt(f.state.get("offset").or("0"));
  for (let i = from; i < min(from + 3, 7); i++) f.add(i.toString());
  return Outcome.Done;
}

// Handles the batch in the way that the case names.
export function wasmjob_process(): Outcome {
  const b = new Batch();
  const param = b.jobParam;
  if (param == "flowfail") return b.fail("bad batch");
  if (param == "flowpanic") {
    b.info("processing");
    throw new Error("it broke");
  }
  const elements = new Array<string>();
  for (let i = 0; i < b.count; i++) elements.push(b.element(i).text);
  if (param == "flowack") return mark(b, elements);
  if (param == "offset") {
    const next = (I32.parseInt(elements[elements.length - 1]) + 1).toString();
    b.state.set("offset", next);
    b.result(next);
    return Outcome.Done;
  }
  b.metric("seen", elements.length);
  b.result(elements.join(","));
  return Outcome.Done;
}

// Elements are identified by content, because their index changes when they are passed
// again.
function mark(b: Batch, elements: string[]): Outcome {
  for (let i = 0; i < elements.length; i++) {
    const e = elements[i];
    b.ack(i, e == "e0" ? Ack.Done : e == "e1" ? Ack.Failed : Ack.Retry);
  }
  return Outcome.Done;
}
