// A sharding strategy that assigns items in proportion to the label `weight` of
// each server, a whole number; 1 without the label. A server of weight 0 gets
// items only if all have 0: some server must run them, so then all count as 1.
//
// Each item goes to the instance that has the least load after taking it. If the
// total grows, no other item moves.

import { Code, Outcome, Sharding, nameOf } from "wasmjob";
export { wasmjob_abi_v1 } from "wasmjob";

const MOST: i64 = 1_000_000_000;

export function wasmjob_shard(): Outcome {
  const s = new Sharding();
  const weights = new StaticArray<i64>(s.instances);
  let sum: i64 = 0;
  for (let i = 0; i < weights.length; i++) {
    const text = s.label(i, "weight").or("1");
    const weight = parse(text);
    if (weight < 0) return s.fail(`the weight of ${s.id(i)} is "${text}", not a whole number up to ${MOST}`);
    weights[i] = weight;
    sum += weight;
  }
  if (sum == 0) weights.fill(1);
  return deal(s, weights);
}

// Assigns item after item.
function deal(s: Sharding, weights: StaticArray<i64>): Outcome {
  const total = s.total;
  const given = new StaticArray<i64>(weights.length);
  for (let item = 0; item < total; item++) {
    const to = next(weights, given);
    given[to]++;
    const code = s.assign(item, to);
    if (code != Code.Ok) return s.fail(`item ${item}: ${nameOf(code)}`);
  }
  return Outcome.Done;
}

// The instance of the least load, (given + 1) / weight. Loads are compared as products,
// so nothing is rounded, and every server gets the same result. Most fuel is used here:
// without checks of bounds, 100,000 items among 200 servers are within a host's default.
function next(weights: StaticArray<i64>, given: StaticArray<i64>): i32 {
  let best = -1;
  let load: i64 = 1; // of the best, after taking it; at first infinite: 1 / 0
  let weight: i64 = 0;
  for (let i = 0, n = weights.length; i < n; i++) {
    const w = unchecked(weights[i]);
    const l = unchecked(given[i]) + 1;
    if (l * weight < load * w) {
      best = i;
      load = l;
      weight = w;
    }
  }
  return best;
}

// The number, or -1 if the text is none up to MOST.
function parse(text: string): i64 {
  if (text.length == 0 || text.length > 10) return -1;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 48 || c > 57) return -1;
  }
  const n = I64.parseInt(text);
  return n <= MOST ? n : -1;
}
