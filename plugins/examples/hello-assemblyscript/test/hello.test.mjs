import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "wasmjob/testing";

const module = process.env.MODULE ?? "hello-assemblyscript.wasm";

for (const [name, param, want] of [
  ["with a parameter", "moon", "hello, moon, from item 1 of 3"],
  ["without", null, "hello, world, from item 1 of 3"],
]) {
  test(name, async () => {
    const run = await new FakeHost({ item: 1, total: 3, param }).execute(module);
    assert.deepEqual([run.code, run.result, run.lines], [0, want, [want]]);
  });
}
