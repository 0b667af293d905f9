// The values of an item.

import { Code } from "./codes";
import * as host from "./imports";
import { Value, at, buf, bytesOf, cap, taken, tooSmall, utf8 } from "./memory";

/**
 * Values that belong to the item, wherever it runs. A change is visible at once
 * and kept if the entry returns `Outcome.Done`; otherwise it is discarded.
 */
export class State {
  /** A value; `Code.NotFound` if there is none. */
  get(key: string): Value {
    const k = utf8(key);
    let n: i32;
    do { n = host.state_get(at(k), k.byteLength, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** Sets a value. */
  set<T>(key: string, value: T): Code {
    const k = utf8(key);
    const v = bytesOf<T>(value);
    return <Code>host.state_set(at(k), k.byteLength, at(v), v.byteLength);
  }

  /** `Code.NotFound` if there was none. */
  delete(key: string): Code {
    const k = utf8(key);
    return <Code>host.state_delete(at(k), k.byteLength);
  }
}
