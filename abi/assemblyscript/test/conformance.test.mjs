// Runs the conformance guest on the fake host, which tests the SDK and the fake host
// against each other. The authoritative test is abi/conformance.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { FakeHost } from "../testing/index.mjs";

// The folder that `npm run build` and .ci/guests write to.
const folder = process.env.WASMJOB_GUESTS ?? new URL("../../../build/guests/conformance", import.meta.url).pathname;
const guest = await WebAssembly.compile(await readFile(`${folder}/assemblyscript.wasm`));
const script = await WebAssembly.compile(await readFile(`${folder}/assemblyscript-script.wasm`));

function host(jobParam, settings = {}) {
  return new FakeHost({ jobName: "conformance", item: 1, total: 3, param: "north", jobParam, ...settings });
}

describe("execute", () => {
  const cases = [
    ["ok", { code: 0 }],
    ["fail", { code: 1, reason: "it failed" }],
    ["retry", { code: 2, reason: "again later" }],
    ["skip", { code: 3 }],
    ["code", { code: 142, reason: "own code" }],
    ["json", { code: 0, result: "{}" }],
    ["config:key", { code: 0, result: "value" }, { config: { key: "value" } }],
    ["config:blank", { code: 0, result: "" }, { config: { blank: "" } }],
    ["config:none", { code: 0, result: "-" }],
    ["config:large", { code: 0, result: "0123456789".repeat(30000) }, { config: { large: "0123456789".repeat(30000) } }],
    ["utf8:žluťoučký 馬 🐎\u0000\ufeff", { code: 0, result: "žluťoučký 馬 🐎\u0000\ufeff" }],
    ["empty", { code: 0, result: "" }],
    ["large:1000000", { code: 0, result: "x".repeat(1000000) }],
    ["large:2000000", { code: 0, result: "limit" }],
    ["stop", { code: 0, result: "4" }, { stop: () => 4 }],
    ["nap:5", { code: 0, result: "slept" }],
    ["nap:5", { code: 0, result: "stopped" }, { sleep: () => -6 }],
    ["nap:-5", { code: 0, result: "slept" }, { sleep: (ms) => (ms === 0 ? 0 : -6) }],
    ["badmetric", { code: 0, result: "invalid" }],
    ["clock", { code: 0, result: "1711111111111" }, { clock: 1711111111111 }],
    ["clock", { code: 0, result: "denied" }],
    ["random", { code: 0, result: "07".repeat(16) }, { random: (n) => new Uint8Array(n).fill(7) }],
    ["random", { code: 0, result: "denied" }],
    ["count", { code: 0, result: "42" }, { state: { n: "41" } }],
    ["count", { code: 0, result: "1" }, { state: {} }],
    ["count", { code: 0, result: "denied" }],
    ["forget", { code: 0, result: "gone" }, { state: { n: "1" } }],
    ["forget", { code: 0, result: "none" }, { state: {} }],
    ["secret:token", { code: 0, result: "s3cret" }, { secrets: { token: "s3cret" } }],
    ["secret:other", { code: 0, result: "denied" }, { secrets: { token: "s3cret" } }],
    ["get:https://example.org/a", { code: 0, result: `200 ${"x".repeat(300000)}` }, { http: () => ({ body: "x".repeat(300000) }) }],
    ["get:https://example.org/a", { code: 0, result: "404 " }, { http: () => ({ status: 404 }) }],
    ["get:https://example.org/a", { code: 0, result: "denied" }],
    ["get:https://example.org/a", { code: 0, result: "io" }, { http: () => -8 }],
    ["get:no such", { code: 0, result: "invalid" }, { http: () => ({}) }],
    ["get:https://example.org/\nHost: evil", { code: 0, result: "invalid" }, { http: () => assert.fail("was sent") }],
  ];
  for (const [param, want, settings] of cases) {
    test(JSON.stringify(param).slice(0, 40) + (settings ? ` with ${Object.keys(settings)}` : ""), async () => {
      const run = await host(param, settings).execute(guest);
      for (const [name, value] of Object.entries(want)) assert.equal(run[name], value, `${name}; ${run.trap ?? run.reason}`);
      assert.equal(run.trap, null);
    });
  }

  test("panic", async () => {
    const run = await host("panic").execute(guest);
    assert.equal(run.code, null);
    assert.match(run.reason, /^it broke \(conformance\/execute\.ts:\d+:\d+\)$/);
  });

  test("fields", async () => {
    const run = await host("fields", { fence: 2n ** 53n + 1n, deadline: 1700000020000, failover: true }).execute(guest);
    const fields = Object.fromEntries(run.result.split("\n").map((l) => l.split("=")));
    assert.equal(Object.keys(fields).length, 21);
    assert.equal(fields.itemParam, "north");
    assert.equal(fields.fence, "9007199254740993");
    assert.equal(fields.deadline, "1700000020000");
    assert.equal(fields.failover, "1");
    assert.equal(fields.hostMinor, "2");
  });

  test("logs, metrics, progress", async () => {
    assert.deepEqual((await host("log").execute(guest)).logs, [
      { level: 2, text: "before" },
      { level: 0, text: "trace line" }, { level: 1, text: "debug line" }, { level: 2, text: "info line" },
      { level: 3, text: "warn line" }, { level: 4, text: "error line" }, { level: 2, text: "two\nlines" }, { level: 2, text: "end" },
      { level: 2, text: "after" }, { level: 2, text: "ended 0" },
    ]);
    assert.deepEqual((await host("metric").execute(guest)).metrics, { rows: 5 });
    assert.deepEqual((await host("progress").execute(guest)).progress, [3, 4]);
  });

  test("after is told how the run ended, and nobody else is", async () => {
    const run = await host("code").execute(guest);
    assert.deepEqual([run.code, run.reason, run.lines.at(-1)], [142, "own code", "ended 142 own code"]);
    assert.equal((await host("ok").listen(guest, "after")).lines.at(-1), "ended unknown");
    assert.equal((await host("ok", { ended: 4, endedReason: "slow" }).listen(guest, "after")).lines.at(-1), "ended 4 slow");
  });

  test("countfail keeps nothing, count keeps", async () => {
    const h = host("countfail", { state: { n: "41" } });
    const run = await h.execute(guest);
    assert.deepEqual([run.code, run.reason, h.state], [1, "not kept", { n: "41" }]);
    h.jobParam = "count";
    await h.execute(guest);
    assert.deepEqual(h.state, { n: "42" });
  });

  test("post", async () => {
    let sent;
    const http = (request) => {
      sent = request;
      return { status: 201, headers: { "X-Echo": "yes" }, body: "pong" };
    };
    const run = await host("post:https://example.org/e", { http }).execute(guest);
    assert.equal(run.result, "201 yes pong");
    assert.deepEqual(sent, { method: "POST", url: "https://example.org/e", headers: { "X-Test": "yes" }, body: "ping" });
    const bare = await host("post:https://example.org/e", { http: () => ({}) }).execute(guest);
    assert.equal(bare.result, "200 - ");
  });
});

// Node's decoder replaces what is invalid as WHATWG says. The bytes are those at which its rules change.
describe("text that is not UTF-8", () => {
  const whole = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  const edges = [0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff];
  const all = [];
  for (const a of edges) for (const b of edges) for (const c of edges) for (const d of edges) all.push(a, b, c, d, 0x0a);
  const ends = [[0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x90], [0xf4]];
  for (const bytes of [[...Buffer.from("caf\xe9 au lait, \xff<b>, end\xc3", "latin1")], all, ...ends]) {
    test(`${bytes.length} bytes`, async () => {
      const body = Uint8Array.from(bytes);
      const run = await host("get:https://example.org/a", { http: () => ({ body }), maxResult: 1 << 24 }).execute(guest);
      assert.equal(run.result, `200 ${whole(bytes)}`);
      const param = Buffer.concat([Buffer.from("utf8:"), body]);
      assert.equal((await host(param, { maxResult: 1 << 24 }).execute(guest)).result, whole(bytes));
    });
  }
});

describe("dataflow", () => {
  test("one batch, and streaming", async () => {
    const one = await host("flow:3").dataflow(guest);
    assert.deepEqual([one.code, one.result, one.metrics.seen], [0, "e0,e1,e2", 3]);
    const all = await host("flow:3", { streaming: true }).dataflow(guest);
    assert.deepEqual([all.code, all.result, all.metrics.seen], [0, "e0", 6]);
    assert.equal((await host("flow:0").dataflow(guest)).code, 3);
  });
  test("faults", async () => {
    const fail = await host("flowfail", { streaming: true }).dataflow(guest);
    assert.deepEqual([fail.code, fail.reason], [1, "bad batch"]);
    assert.deepEqual(fail.lines, ["before", "after", "ended 1 bad batch"]);
    const panic = await host("flowpanic").dataflow(guest);
    assert.match(panic.reason, /^it broke/);
    assert.deepEqual(panic.lines, ["before", "processing"]);
  });
  test("marks: what is to be tried again comes again", async () => {
    const run = await host("flowack").dataflow(guest);
    assert.deepEqual([run.code, run.batch.length, [...run.acks]], [0, 1, [[0, 2]]]);
  });
  test("offset", async () => {
    const h = host("offset", { streaming: true, state: {} });
    const run = await h.dataflow(guest);
    assert.deepEqual([run.code, run.result, h.state], [0, "7", { offset: "7" }]);
  });
});

describe("shard", () => {
  const instances = [{ id: "c", labels: { weight: "2" } }, { id: "b", labels: { weight: "10" } }, { id: "a" }];
  for (const [param, total, previous, owners] of [
    ["modulo", 7, [], [0, 1, 2, 0, 1, 2, 0]],
    ["heaviest", 2, [], [1, 1]],
    ["sticky", 4, [2, -1, 1, 0], [2, 0, 1, 0]],
    ["partial", 3, [], [0, 0]],
  ]) {
    test(param, async () => {
      const run = await host(param, { total, previous, instances }).shard(guest);
      assert.deepEqual([run.code, run.owners], [0, owners]);
    });
  }
  test("twice", async () => assert.equal((await host("twice", { instances }).shard(guest)).reason, "conflict"));
  test("panic", async () => assert.match((await host("panic", { instances }).shard(guest)).reason, /^it broke/));
});

test("listeners", async () => {
  assert.deepEqual((await host("listen").execute(guest)).lines, ["before", "after", "ended 0"]);
  const veto = await host("veto").execute(guest);
  assert.deepEqual([veto.code, veto.lines], [3, ["before"]]);
  assert.deepEqual((await host("listen").listen(guest, "started")).lines, ["started"]);
  assert.deepEqual((await host("listen").listen(guest, "completed")).lines, ["completed", "fire unknown"]);
  const fire = { succeeded: 5, failed: 1, skipped: 2 };
  assert.deepEqual((await host("listen", { fire }).listen(guest, "completed")).lines, ["completed", "fire 5 1 2"]);
});

test("script", async () => {
  const h = new FakeHost({ json: '{"jobName":"žluťoučký"}' });
  assert.equal((await h.script(script, ["context", "two words"])).result, h.json);
  assert.equal((await h.script(script, ["env"], { WASMJOB_JOB: "conformance", WASMJOB_ITEM: "1" })).result, "conformance 1");
  const fail = await h.script(script, ["fail"]);
  assert.deepEqual([fail.code, fail.reason], [3, "bad luck\n"]);
});
