// Called by the compiler's code for `throw` and failed assertions.

import * as host from "./imports";

const ROOM = 4096;
const TEXT: usize = memory.data(4096);

// append does not allocate, because running out of memory aborts, too. A UTF-16
// unit takes at most three bytes.
function append(end: usize, text: string | null): usize {
  if (!text) return end;
  const units = min(text.length, <i32>(TEXT + ROOM - end) / 3);
  return end + String.UTF8.encodeUnsafe(changetype<usize>(text), units, end, false, String.UTF8.ErrorMode.REPLACE);
}

// Appends a number in decimal, without allocating either.
function appendNumber(end: usize, n: u32): usize {
  if (n >= 10) end = appendNumber(end, n / 10);
  store<u8>(end, 48 + n % 10);
  return end + 1;
}

/** Passes the reason to the host and ends the run; the compiler's option `--use abort=…` refers to it. */
export function abort(message: string | null = null, file: string | null = null, line: u32 = 0, column: u32 = 0): void {
  let end = message ? append(TEXT, message) : append(TEXT, "aborted");
  if (file && end + 3 * file.length + 32 < TEXT + ROOM) {
    end = append(append(end, " ("), file);
    end = appendNumber(append(end, ":"), line);
    end = append(appendNumber(append(end, ":"), column), ")");
  }
  host.error_set(TEXT, <i32>(end - TEXT));
  unreachable();
}
