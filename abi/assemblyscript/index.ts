/**
 * The SDK for jobs and sharding strategies written in AssemblyScript; README.md
 * shows how a module is made of it.
 */
export { Ack, Code, Level, Outcome, Stop, nameOf } from "./assembly/codes";
export { Context, Host } from "./assembly/context";
export { Batch, Fetch } from "./assembly/dataflow";
export { Request, Response } from "./assembly/http";
export { Value } from "./assembly/memory";
export { Sharding } from "./assembly/sharding";
export { State } from "./assembly/state";
export { abort } from "./assembly/abort";

/** Says which contract the module speaks; export it from the entry file. It is never called. */
export function wasmjob_abi_v1(): void {}
