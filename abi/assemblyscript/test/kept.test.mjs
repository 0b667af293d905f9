// What the fake host keeps of the state, for each way in which a run may end.
import assert from "node:assert/strict";
import { test } from "node:test";
import asc from "assemblyscript/asc";
import { FakeHost } from "../testing/index.mjs";

// Each call of an entry has a letter: it sets a value of that name, and returns the digit
// that the table config has for it, or 0; 9 is a trap. With r, process wants its element again.
const { binary: guest, stderr } = await asc.compileString(`
  @external("wasmjob_v1", "config_get") declare function config(key: usize, klen: i32, buf: usize, cap: i32): i32;
  @external("wasmjob_v1", "state_set") declare function set(key: usize, klen: i32, val: usize, vlen: i32): i32;
  @external("wasmjob_v1", "batch_add") declare function add(ptr: usize, len: i32): i32;
  @external("wasmjob_v1", "batch_ack") declare function ack(index: i32, outcome: i32): i32;
  const name = memory.data(1), digit = memory.data(1);
  let fetched = 0, processed = 0;
  function digitOf(letter: u8): i32 {
    store<u8>(name, letter);
    return config(name, 1, digit, 1) == 1 ? load<u8>(digit) - 48 : 0;
  }
  function end(letter: u8): i32 {
    const code = digitOf(letter);
    set(name, 1, name, 1);
    if (code == 9) unreachable();
    return code;
  }
  export function wasmjob_abi_v1(): void {}
  export function wasmjob_before(): i32 { return end(0x62); }
  export function wasmjob_execute(): i32 { return end(0x65); }
  export function wasmjob_after(): i32 { return end(0x61); }
  export function wasmjob_completed(): i32 { return end(0x63); }
  export function wasmjob_fetch(): i32 {
    if (fetched++ > 0) return end(0x67);
    add(name, 1);
    return end(0x66);
  }
  export function wasmjob_process(): i32 {
    if (processed++ > 0) return end(0x71);
    if (digitOf(0x72) == 1) ack(0, 2);
    return end(0x70);
  }`, { runtime: "stub" });
assert.ok(guest, String(stderr));

for (const [kind, config, code, kept] of [
  ["execute", {}, 0, "abe"],
  ["execute", { e: "1" }, 1, ""],
  ["execute", { e: "9" }, null, ""],
  ["execute", { b: "3" }, 3, ""],
  ["execute", { a: "1" }, 0, "abe"],
  ["execute", { a: "9" }, 0, "be"],
  ["dataflow", {}, 0, "abfp"],
  ["dataflow", { b: "3" }, 3, ""],
  ["dataflow", { f: "1" }, 1, ""],
  ["dataflow", { f: "3" }, 3, ""],
  ["dataflow", { p: "1" }, 1, ""],
  ["dataflow", { p: "9" }, null, ""],
  ["dataflow", { r: "1" }, 0, "abfpq"],
  ["dataflow", { r: "1", q: "1" }, 1, ""],
  ["streaming", {}, 0, "abfgp"],
  ["streaming", { g: "3" }, 0, "abfp"],
  ["streaming", { g: "1" }, 1, "bfp"],
]) {
  test(`${kind} with ${JSON.stringify(config)}`, async () => {
    const h = new FakeHost({ config, state: {}, streaming: kind === "streaming" });
    const run = await h[kind === "execute" ? "execute" : "dataflow"](guest);
    assert.deepEqual([run.code, Object.keys(h.state).sort().join("")], [code, kept]);
  });
}

test("a listener keeps what it sets if it succeeds", async () => {
  for (const [digit, kept] of [["0", ["a"]], ["1", []]]) {
    const h = new FakeHost({ config: { a: digit }, state: {} });
    await h.listen(guest, "after");
    assert.deepEqual(Object.keys(h.state), kept);
  }
});

test("a listener of a fire has no state", async () => {
  const h = new FakeHost({ state: {} });
  await h.listen(guest, "completed");
  assert.deepEqual(h.state, {});
});
