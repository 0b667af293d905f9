// Runs a small guest that keeps bytes in the state of the fake host.
import assert from "node:assert/strict";
import { test } from "node:test";
import asc from "assemblyscript/asc";
import { FakeHost } from "../testing/index.mjs";

// Its result is the value of "k"; if there is none, it sets one that is not text.
const { binary: guest, stderr } = await asc.compileString(`
  @external("wasmjob_v1", "state_get") declare function get(key: usize, klen: i32, buf: usize, cap: i32): i32;
  @external("wasmjob_v1", "state_set") declare function set(key: usize, klen: i32, val: usize, vlen: i32): i32;
  @external("wasmjob_v1", "result_set") declare function result(ptr: usize, len: i32): i32;
  export function wasmjob_abi_v1(): void {}
  export function wasmjob_execute(): i32 {
    const key = memory.data<u8>([0x6b]), bytes = memory.data<u8>([0xff, 0, 0xc3]), buf = memory.data(16);
    const length = get(key, 1, buf, 16);
    return length < 0 ? set(key, 1, bytes, 3) : result(buf, length);
  }`, { runtime: "stub" });
assert.ok(guest, String(stderr));

test("bytes that are not text stay as they are", async () => {
  const h = new FakeHost({ state: {} });
  assert.equal((await h.execute(guest)).code, 0);
  assert.deepEqual(h.state, { k: Uint8Array.of(0xff, 0, 0xc3) });
  assert.deepEqual((await h.execute(guest)).bytes, Uint8Array.of(0xff, 0, 0xc3));
});

test("a test may set text or bytes", async () => {
  assert.equal((await new FakeHost({ state: { k: "\ufeffž" } }).execute(guest)).result, "\ufeffž");
  assert.deepEqual((await new FakeHost({ state: { k: Uint8Array.of(0x80) } }).execute(guest)).bytes, Uint8Array.of(0x80));
});
