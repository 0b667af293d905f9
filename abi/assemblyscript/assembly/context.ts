// What a module may ask its host: Host has what every entry may use, Context
// adds what belongs to jobs.

import { Code, Field, Level, Outcome, Stop } from "./codes";
import * as host from "./imports";
import { Value, at, buf, bytesOf, cap, reserve, taken, takenText, tooSmall, utf8 } from "./memory";
import { State } from "./state";

// Reads a text field into the shared buffer, and returns its length or a negative code.
function field(id: Field): i32 {
  let n: i32;
  do { n = host.ctx_str(id, buf(), cap()); } while (tooSmall(n));
  return n;
}

function text(id: Field): string { return takenText(field(id)); }

// Every host that loads the module knows the fields that this reads.
// @ts-ignore: decorator
@inline
function number(id: Field): i64 { return host.ctx_int(id); }

// For fields that only some listeners have, and that older hosts do not know.
function known(id: Field): i32 {
  const n = number(id);
  return n == i64.MIN_VALUE ? -1 : <i32>n;
}

/** What jobs and strategies have in common. */
export class Host {
  /** The name of the job. */
  get jobName(): string { return text(Field.JobName); }
  /** The parameter of the job. */
  get jobParam(): string { return text(Field.JobParam); }
  /** The namespace of the registry. */
  get namespace(): string { return text(Field.Namespace); }
  /** The sha256 of this module, in hex. */
  get moduleDigest(): string { return text(Field.ModuleDigest); }
  /** Hex digits that differ between runs and items, but not between attempts; in a strategy, between inputs. */
  get seed(): string { return text(Field.Seed); }
  /** The number of items of the job. */
  get total(): i32 { return <i32>number(Field.ShardingTotal); }
  /** The number of additions to version 1 that the host has. */
  get hostMinor(): i32 { return <i32>number(Field.HostMinor); }

  /** A setting from the job's table `config`. */
  config(key: string): Value {
    const k = utf8(key);
    let n: i32;
    do { n = host.config_get(at(k), k.byteLength, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** Whether lines of this level are logged: check it before building an expensive line. */
  enabled(level: Level): bool { return <i32>level >= host.log_level(); }

  /** Writes a line to the host's log. */
  log(level: Level, message: string): void {
    const m = utf8(message);
    host.log(min(max(<i32>level, <i32>Level.Trace), <i32>Level.Error), at(m), m.byteLength);
  }

  trace(message: string): void { this.log(Level.Trace, message); }
  debug(message: string): void { this.log(Level.Debug, message); }
  info(message: string): void { this.log(Level.Info, message); }
  warn(message: string): void { this.log(Level.Warn, message); }
  /** Logs a line about an error; it does not fail the run, as `return c.fail(…)` does. */
  error(message: string): void { this.log(Level.Error, message); }

  /** Sets the reason that is recorded with the run, and returns the value to return. Codes of your own begin at 128; others count as 1. */
  fail(reason: string, code: i32 = 1): Outcome {
    why(reason);
    return code >= <i32>Outcome.Author ? <Outcome>code : Outcome.Failed;
  }
}

// Passes the reason of the end to the host.
function why(reason: string): void {
  const r = utf8(reason);
  host.error_set(at(r), r.byteLength);
}

/** A job's view of its run. */
export class Context extends Host {
  /** Values that belong to the item, wherever it runs; needs the grant `state`. */
  readonly state: State = new State();

  /** The item that this run is for, from 0 to `total - 1`. */
  get item(): i32 { return <i32>number(Field.ShardingItem); }
  /** The parameter of the item. */
  get param(): Value { return taken(field(Field.ShardingParam)); }
  /** ElasticJob's id of this fire on this server. */
  get taskId(): string { return text(Field.TaskID); }
  /** The same in every attempt of this run: a key for effects that must happen only once. */
  get runId(): string { return text(Field.RunID); }
  /** The id of the instance that runs the job. */
  get instance(): string { return text(Field.InstanceID); }
  /** Counts the attempts of this run from 1. */
  get attempt(): i32 { return <i32>number(Field.Attempt); }
  /** The fencing token: a later owner of the item has a larger one, so a store that remembers the largest can refuse late writes. */
  get fence(): i64 { return number(Field.Fence); }
  /** The instant that the run is for, in milliseconds since 1970; it may be long past. */
  get scheduled(): i64 { return number(Field.ScheduledTime); }
  /** When this attempt began; without the grant `clock` the same as `scheduled`. */
  get fired(): i64 { return number(Field.FireTime); }
  /** When the run should be over; 0 if there is no deadline. */
  get deadline(): i64 { return number(Field.Deadline); }
  /** Whether the item was taken over from another server. */
  get failover(): bool { return number(Field.Failover) != 0; }
  /** Whether the run is for instants that were missed. */
  get misfire(): bool { return number(Field.Misfire) != 0; }
  /** Whether this is a streaming dataflow job. */
  get streaming(): bool { return number(Field.Streaming) != 0; }
  /** The number of elements that the job wants in a batch; 0: as many as you like. */
  get fetchCount(): i32 { return <i32>number(Field.FetchCount); }

  /** How the run has ended, in the listener `wasmjob_after`; -1 elsewhere, and on a host whose `hostMinor` is below 2. */
  get ended(): i32 { return known(Field.Outcome); }
  /** The reason that the run gave for its end, in `wasmjob_after`; there may be none. */
  get endedReason(): Value { return taken(field(Field.Reason)); }

  /** In the listener `wasmjob_completed`, the number of items that succeeded on all servers; -1 elsewhere or if the host does not know. */
  get fireSucceeded(): i32 { return known(Field.FireSucceeded); }
  /** The same: the number of items that failed, were late, or were stopped. */
  get fireFailed(): i32 { return known(Field.FireFailed); }
  /** The same: the number of items that had nothing to do. */
  get fireSkipped(): i32 { return known(Field.FireSkipped); }

  /** The whole context as JSON. */
  get json(): string {
    let n: i32;
    do { n = host.ctx_json(buf(), cap()); } while (tooSmall(n));
    return takenText(n);
  }

  /** Sets the result of the run; a later call replaces it. `Code.Limit`, changing nothing, if it is too large for the host. */
  result<T>(value: T): Code {
    const b = bytesOf<T>(value);
    return <Code>host.result_set(at(b), b.byteLength);
  }

  /** Ends the run as failed so that another attempt may follow: `return c.retry("…")`. */
  retry(reason: string): Outcome {
    why(reason);
    return Outcome.Retryable;
  }

  /** Ends the run with nothing to do: `return c.skip()`. */
  skip(reason: string = ""): Outcome {
    if (reason.length > 0) why(reason);
    return Outcome.Skipped;
  }

  /** Why the run should stop. A long run checks this regularly and returns; otherwise it is ended after its grace period. */
  get cancelled(): Stop { return <Stop>host.cancelled(); }

  /** Shows how far the run is. */
  progress(done: i64, total: i64): void { host.progress(done, total); }

  /** Adds to a sum that is recorded with the run. */
  metric(name: string, value: f64): Code {
    const n = utf8(name);
    return <Code>host.metric_add(at(n), n.byteLength, value);
  }

  /** Waits, not at all for a negative time; `Code.Cancelled` as soon as the run should stop. */
  sleep(ms: i32): Code { return <Code>host.sleep_ms(max(ms, 0)); }

  /** Milliseconds since 1970; needs the grant `clock`, and is negative, a `Code`, without it. */
  get now(): i64 { return host.now_unix_ms(); }

  /** As many random bytes as count, at most 65536; needs the grant `random`. */
  random(count: i32): Value {
    reserve(count);
    const code = host.random(buf(), count);
    return taken(code < 0 ? code : count);
  }

  /** A secret; needs the grant `secrets` for this name. */
  secret(name: string): Value {
    const k = utf8(name);
    let n: i32;
    do { n = host.secret_get(at(k), k.byteLength, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }
}
