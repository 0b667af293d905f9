import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "wasmjob/testing";

const module = process.env.MODULE ?? "probe-assemblyscript.wasm";
const url = "https://example.org/health";

for (const [name, settings, want] of [
  ["a good answer", { http: () => ({ body: "fine" }) }, { code: 0, result: `${url} answered 200` }],
  ["the page of the settings", { param: null, config: { url }, http: () => ({}) }, { code: 0, result: `${url} answered 200` }],
  ["with a clock", { clock: 5, http: () => ({}) }, { code: 0, result: `${url} answered 200 in 0 ms` }],
  ["another status", { http: () => ({ status: 503 }) }, { code: 128, reason: `${url} answered 503, wanted 200` }],
  ["a status that is wanted", { config: { status: "503" }, http: () => ({ status: 503 }) }, { code: 0 }],
  ["a text that is there", { config: { contains: "fine" }, http: () => ({ body: "all fine" }) }, { code: 0 }],
  ["a text that is not", { config: { contains: "fine" }, http: () => ({ body: "no" }) }, { code: 128, reason: `${url} does not contain "fine"` }],
  ["no network", { http: () => -8 }, { code: 2, reason: `${url}: io` }],
  ["too slow", { http: () => -7 }, { code: 2, reason: `${url}: timeout` }],
  ["not granted", {}, { code: 1, reason: `${url}: denied` }],
  ["no page", { param: null }, { code: 1, reason: "no page to ask: set the item's parameter or the setting url" }],
]) {
  test(name, async () => {
    const run = await new FakeHost({ param: url, ...settings }).execute(module);
    for (const [key, value] of Object.entries(want)) assert.equal(run[key], value, run.trap ?? run.reason);
  });
}

test("the request names the probe", async () => {
  let sent;
  await new FakeHost({ param: url, http: (request) => { sent = request; return {}; } }).execute(module);
  assert.deepEqual([sent.method, sent.url, sent.headers["User-Agent"]], ["GET", url, "wasmjob-probe"]);
});
