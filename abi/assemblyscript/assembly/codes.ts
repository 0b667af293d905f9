// The numbers that host and guest agree on, spelled as in package abi of the
// host; a test over there compares the two.

/** The result of an entry: how the run ended. */
export const enum Outcome {
  /** The run succeeded. */
  Done = 0,
  /** It failed; `fail` sets the reason, too. */
  Failed = 1,
  /** It failed, and another attempt may help; `retry` sets the reason, too. */
  Retryable = 2,
  /** There was nothing to do. */
  Skipped = 3,
  /** Only a value of `ended`: it ended after its deadline, whatever it returned. */
  Late = 4,
  /** The first of the failure codes that the author of a module can define. */
  Author = 128,
}

/** The host's answer to a call. */
export const enum Code {
  Ok = 0,
  /** The host knows no such field. */
  UnknownField = -1,
  /** The job is not granted this. */
  Denied = -2,
  /** There is no such value. */
  NotFound = -3,
  /** An argument is invalid. */
  Invalid = -4,
  /** A size, count or rate is exceeded. */
  Limit = -5,
  /** The run is being stopped. */
  Cancelled = -6,
  /** The operation took too long. */
  Timeout = -7,
  /** Input or output failed. */
  IO = -8,
  /** Another caller was first. */
  Conflict = -9,
  /** It must not be called now. */
  WrongPhase = -10,
  /** A fault of the host. */
  Internal = -11,
}

/** The name of a code, for reasons and log lines: "denied", "not found". */
export function nameOf(code: Code): string {
  switch (code) {
    case Code.Ok: return "ok";
    case Code.UnknownField: return "unknown field";
    case Code.Denied: return "denied";
    case Code.NotFound: return "not found";
    case Code.Invalid: return "invalid";
    case Code.Limit: return "limit";
    case Code.Cancelled: return "cancelled";
    case Code.Timeout: return "timeout";
    case Code.IO: return "io";
    case Code.Conflict: return "conflict";
    case Code.WrongPhase: return "wrong phase";
    case Code.Internal: return "internal";
    default: return "unknown code";
  }
}

/** The outcome of one element of a batch. */
export const enum Ack {
  Done = 0,
  Failed = 1,
  /** It is passed to process again. */
  Retry = 2,
}

/** Why a run should stop. */
export const enum Stop {
  /** It should go on. */
  None = 0,
  Deadline = 1,
  /** The server shuts down. */
  Shutdown = 2,
  /** The job was disabled. */
  Disabled = 3,
  /** The items are being assigned anew. */
  Resharding = 4,
  /** The server lost its session: another one may own the item soon. */
  SessionLost = 5,
}

/** The importance of a log line. */
export const enum Level {
  Trace = 0,
  Debug = 1,
  Info = 2,
  Warn = 3,
  Error = 4,
  /** Only an answer: nothing is logged. */
  None = 5,
}

/** Ids for ctx_str and ctx_int; the classes of this package read them all. */
export const enum Field {
  JobName = 1,
  TaskID = 2,
  JobParam = 3,
  ShardingParam = 4,
  InstanceID = 5,
  Namespace = 6,
  ModuleDigest = 7,
  Seed = 8,
  RunID = 9,
  Reason = 10,

  ShardingTotal = 100,
  ShardingItem = 101,
  FireTime = 102,
  Deadline = 103,
  Attempt = 104,
  Failover = 105,
  Misfire = 106,
  HostMinor = 107,
  Streaming = 108,
  Fence = 109,
  ScheduledTime = 110,
  FetchCount = 111,
  Outcome = 112,
  FireSucceeded = 113,
  FireFailed = 114,
  FireSkipped = 115,
}
