/**
 * The SDK for jobs and sharding strategies written in AssemblyScript; README.md
 * shows how to build a module with it.
 */
export { Ack, Code, Level, Outcome, Stop, nameOf } from "./assembly/codes";
export { Context, Host } from "./assembly/context";
export { Batch, Fetch } from "./assembly/dataflow";
export { Request, Response } from "./assembly/http";
export { Value } from "./assembly/memory";
export { Sharding } from "./assembly/sharding";
export { State } from "./assembly/state";
export { abort } from "./assembly/abort";

/** Marks the version of the contract that the module uses; export it from the entry file. It is never called. */
export function wasmjob_abi_v1(): void {}
