// Modules that fail before the host can call an entry.
import assert from "node:assert/strict";
import { test } from "node:test";
import asc from "assemblyscript/asc";
import { FakeHost } from "../testing/index.mjs";

const { binary: guest, stderr } = await asc.compileString(`
  @external("wasmjob_v1", "error_set") declare function fail(ptr: usize, len: i32): i32;
  export function wasmjob_abi_v1(): void {}
  export function wasmjob_before(): i32 { return 0; }
  export function wasmjob_execute(): i32 { return 0; }
  export function wasmjob_fetch(): i32 { return 0; }
  export function wasmjob_process(): i32 { return 0; }
  export function wasmjob_shard(): i32 { return 0; }
  fail(memory.data<u8>([0x6e, 0x6f]), 2);
  unreachable();`, { runtime: "stub", exportStart: "_initialize" });
assert.ok(guest, String(stderr));

for (const entry of ["execute", "dataflow", "shard", "listen"]) {
  test(`${entry} of a module that traps at its start`, async () => {
    const run = await new FakeHost()[entry](guest, "before");
    assert.deepEqual([run.code, run.trap, run.reason], [null, "unreachable", "no"]);
  });
}
