// The input of a sharding strategy.

import { Code } from "./codes";
import { Host } from "./context";
import * as host from "./imports";
import { Value, at, buf, cap, taken, takenText, tooSmall, utf8 } from "./memory";

/**
 * A strategy assigns every item from 0 to `total - 1` to one instance. The same
 * input must always lead to the same assignment.
 */
export class Sharding extends Host {
  /** The number of instances to assign to. */
  get instances(): i32 { return host.shard_instance_count(); }

  /** The id of an instance; they are in descending order. */
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

  /** Assigns the item to the instance; `Code.Conflict` if it was assigned before. */
  assign(item: i32, instance: i32): Code { return <Code>host.shard_assign(item, instance); }
}
