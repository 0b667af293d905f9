// What a sharding strategy sees.

import { Code } from "./codes";
import { Host } from "./context";
import * as host from "./imports";
import { Value, at, buf, cap, taken, takenText, tooSmall, utf8 } from "./memory";

/**
 * The question that a strategy answers: every item from 0 to `total - 1` is
 * given to one instance. The same input must lead to the same answer.
 */
export class Sharding extends Host {
  /** How many instances there are to deal to. */
  get instances(): i32 { return host.shard_instance_count(); }

  /** The id of one; they come in descending order. */
  id(instance: i32): string {
    let n: i32;
    do { n = host.shard_instance_id(instance, buf(), cap()); } while (tooSmall(n));
    return takenText(n);
  }

  /** A label of the server that the instance runs on. */
  label(instance: i32, key: string): Value {
    const k = utf8(key);
    let n: i32;
    do { n = host.shard_instance_label(instance, at(k), k.byteLength, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** The instance that owns the item now; negative if none of these does. */
  previous(item: i32): i32 { return host.shard_prev(item); }

  /** Gives the item to the instance; `Code.Conflict` if it was given before. */
  assign(item: i32, instance: i32): Code { return <Code>host.shard_assign(item, instance); }
}
