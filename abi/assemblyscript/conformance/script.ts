// The script of ../../conformance/GUEST.md.

import { args, env, exit, print, report } from "wasmjob/script";

const all = args();
const name = all.length > 1 ? all[1] : "";

// A variable of the environment; empty if it is not set.
function variable(name: string): string {
  const value = env(name);
  return value ? value : "";
}

if (name == "context") {
  print(all[all.length - 1]);
} else if (name == "env") {
  print(variable("WASMJOB_JOB") + " " + variable("WASMJOB_ITEM"));
} else if (name == "fail") {
  report("bad luck");
  exit(3);
} else {
  report("there is no case " + name);
  exit(1);
}
