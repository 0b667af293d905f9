// The cases of a strategy.

import { Code, Outcome, Sharding } from "wasmjob";

// Assigns the items in the way that the case names.
export function wasmjob_shard(): Outcome {
  const s = new Sharding();
  const param = s.jobParam;
  if (param == "panic") throw new Error("it broke");
  if (param == "twice") {
    s.assign(0, 0);
    return s.assign(0, 0) == Code.Conflict ? s.fail("conflict") : Outcome.Done;
  }
  const total = s.total;
  const instances = s.instances;
  const heavy = param == "heaviest" ? heaviest(s, instances) : 0;
  for (let item = 0; item < total; item++) {
    let instance = 0;
    if (param == "modulo") instance = item % instances;
    else if (param == "heaviest") instance = heavy;
    else if (param == "sticky") instance = max(s.previous(item), 0);
    else if (param != "partial") return s.fail("there is no case " + param);
    else if (item == total - 1) break;
    s.assign(item, instance);
  }
  return Outcome.Done;
}

// The instance whose server has the largest weight; without the label it is 1.
function heaviest(s: Sharding, instances: i32): i32 {
  let best = 0;
  let most: f64 = -Infinity;
  for (let i = 0; i < instances; i++) {
    const weight = F64.parseFloat(s.label(i, "weight").or("1"));
    if (weight > most) {
      best = i;
      most = weight;
    }
  }
  return best;
}
