// The two halves of a dataflow job.

import { Ack, Code } from "./codes";
import { Context } from "./context";
import * as host from "./imports";
import { Value, at, buf, bytesOf, cap, taken, tooSmall } from "./memory";

/** The batch that `wasmjob_fetch` fills. An empty batch means that there is nothing more to do. */
export class Fetch extends Context {
  /** Adds an element; returns its index, or a negative `Code`: `Code.Limit` if the batch is full. */
  add<T>(element: T): i32 {
    const b = bytesOf<T>(element);
    return host.batch_add(at(b), b.byteLength);
  }
}

/** The batch that `wasmjob_process` handles. */
export class Batch extends Context {
  /** The number of elements. */
  get count(): i32 { return host.batch_count(); }

  /** An element, from 0 to `count - 1`. */
  element(index: i32): Value {
    let n: i32;
    do { n = host.batch_read(index, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** Sets the outcome of an element. An element without one is done if process succeeds, and has failed otherwise. */
  ack(index: i32, ack: Ack): Code { return <Code>host.batch_ack(index, ack); }
}
