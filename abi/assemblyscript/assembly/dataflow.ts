// The two halves of a dataflow job.

import { Ack, Code } from "./codes";
import { Context } from "./context";
import * as host from "./imports";
import { Value, at, buf, bytesOf, cap, taken, tooSmall } from "./memory";

/** What `wasmjob_fetch` fills. To add nothing is to say that there is nothing more to do. */
export class Fetch extends Context {
  /** Adds an element; answers its index, or a negative `Code`: `Code.Limit` when the batch is full. */
  add<T>(element: T): i32 {
    const b = bytesOf<T>(element);
    return host.batch_add(at(b), b.byteLength);
  }
}

/** What `wasmjob_process` handles. */
export class Batch extends Context {
  /** How many elements there are. */
  get count(): i32 { return host.batch_count(); }

  element(index: i32): Value {
    let n: i32;
    do { n = host.batch_read(index, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** Says what became of one element. One without a mark is done if process ends well, and has failed otherwise. */
  ack(index: i32, ack: Ack): Code { return <Code>host.batch_ack(index, ack); }
}
