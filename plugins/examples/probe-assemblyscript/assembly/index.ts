// Checks whether a web page answers as it should. The page is the parameter of the
// item, or else the setting `url`. The settings `status`, 200 by default, and
// `contains` say what to expect. If the page does not answer, another attempt may help.
//
// It needs the grant `http` for the page, and measures how long the answer took
// if it has the grant `clock`.

import { Code, Context, Outcome, Request } from "wasmjob";
export { wasmjob_abi_v1 } from "wasmjob";

/** The page answered, but not as it should. */
const WRONG_ANSWER = 128;

export function wasmjob_execute(): Outcome { return probe(new Context()); }

// Requests the page and checks the answer. Without a granted clock, begun is negative.
function probe(c: Context): Outcome {
  const url = c.param.or(c.config("url").text);
  if (url.length == 0) return c.fail("no page to ask: set the item's parameter or the setting url");

  const begun = c.now;
  const page = new Request("GET", url).header("User-Agent", "wasmjob-probe").send();
  if (!page.ok) return unanswered(c, url, page.code, page.error);
  const status = page.status;
  const body = page.body();
  if (!body.ok && body.code != Code.Limit) return unanswered(c, url, body.code, body.error);
  const took = c.now - begun;

  if (begun > 0) c.metric("answer_ms", <f64>took);
  const wanted = c.config("status").or("200");
  if (status.toString() != wanted) return c.fail(`${url} answered ${status}, wanted ${wanted}`, WRONG_ANSWER);
  const part = c.config("contains").text;
  if (!body.text.includes(part)) return c.fail(`${url} does not contain "${part}"`, WRONG_ANSWER);

  const text = begun > 0 ? `${url} answered ${status} in ${took} ms` : `${url} answered ${status}`;
  c.info(text);
  c.result(text);
  return Outcome.Done;
}

// A fault of the network may be over soon, so another attempt may help. What is not granted stays so.
function unanswered(c: Context, url: string, code: Code, error: string): Outcome {
  const reason = `${url}: ${error}`;
  return code == Code.IO || code == Code.Timeout ? c.retry(reason) : c.fail(reason);
}
