import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "wasmjob/testing";

const module = process.env.MODULE ?? "weighted-assemblyscript.wasm";

// Instances come in descending order of their ids.
const cluster = (...weights) => weights.map((weight, i) => ({
  id: `10.0.0.${weights.length - i}@-@1`, labels: weight === null ? {} : { weight: String(weight) },
}));
const shard = (total, instances) => new FakeHost({ total, instances }).shard(module);
const counts = (run, n) => Array.from({ length: n }, (_, i) => run.owners.filter((o) => o === i).length);

for (const [name, total, weights, want] of [
  ["in proportion", 10, [1, 3, 1], [2, 6, 2]],
  ["equal without labels", 9, [null, null, null], [3, 3, 3]],
  ["a missing label is 1", 8, [3, null], [6, 2]],
  ["nothing for 0", 5, [0, 1], [0, 5]],
  ["all 0", 4, [0, 0], [2, 2]],
  ["fewer items than servers", 2, [1, 1, 1], [1, 1, 0]],
  ["large weights", 1000, [1000000000, 999999999, 1], [500, 500, 0]],
  ["no items", 0, [1, 2], [0, 0]],
]) {
  test(name, async () => {
    const run = await shard(total, cluster(...weights));
    assert.equal(run.code, 0, run.trap ?? run.reason);
    assert.equal(run.owners.length, total);
    assert.deepEqual(counts(run, weights.length), want);
  });
}

test("one more item moves no other", async () => {
  const few = await shard(20, cluster(2, 5, 1));
  const more = await shard(21, cluster(2, 5, 1));
  assert.deepEqual(more.owners.slice(0, 20), few.owners);
});

for (const weight of ["", "-1", "1.5", "many", "1000000001", "99999999999999999999"]) {
  test(`refuses the weight ${JSON.stringify(weight)}`, async () => {
    const run = await shard(3, cluster(1, weight));
    assert.equal(run.code, 1);
    assert.equal(run.reason, `the weight of 10.0.0.1@-@1 is "${weight}", not a whole number up to 1000000000`);
  });
}
