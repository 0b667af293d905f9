// The smallest job in AssemblyScript: it logs a greeting that names its item, and
// returns it as the result.

import { Context, Outcome } from "wasmjob";
export { wasmjob_abi_v1 } from "wasmjob";

export function wasmjob_execute(): Outcome {
  const c = new Context();
  const text = `hello, ${c.param.or("world")}, from item ${c.item} of ${c.total}`;
  c.info(text);
  c.result(text);
  return Outcome.Done;
}
