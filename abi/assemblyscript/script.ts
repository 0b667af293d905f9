/**
 * The SDK for scripts: WASI commands whose code is the top level of the entry
 * file, compiled with asconfig.script.json. Printed text is the result, reported
 * text goes to the log, and the exit code says how the script ended.
 */

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "args_sizes_get")
declare function args_sizes_get(count: usize, size: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "args_get")
declare function args_get(pointers: usize, text: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "environ_sizes_get")
declare function environ_sizes_get(count: usize, size: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "environ_get")
declare function environ_get(pointers: usize, text: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, pieces: usize, count: i32, written: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: i32): void;

// Two numbers that the host writes: sizes, or an I/O vector and the bytes written.
const PAIR: usize = memory.data(8, 4);
const WRITTEN: usize = memory.data(4, 4);

// Decodes the result of args_get and environ_get: pointers into `text`, each to a string
// that ends with a zero byte. The buffer is a parameter so that it stays alive.
function texts(pointers: ArrayBuffer, text: ArrayBuffer): string[] {
  const all = new Array<string>();
  for (let at = changetype<usize>(pointers), end = at + pointers.byteLength; at < end; at += 4) {
    const from = <usize>load<u32>(at);
    const limit = changetype<usize>(text) + text.byteLength;
    let to = from;
    while (to < limit && load<u8>(to) != 0) to++;
    all.push(String.UTF8.decodeUnsafe(from, to - from));
  }
  return all;
}

/** The arguments: the name of the module, the job's own, and last the context as JSON. */
export function args(): string[] {
  if (args_sizes_get(PAIR, PAIR + 4) != 0) return [];
  const pointers = new ArrayBuffer(<i32>(load<u32>(PAIR) * 4));
  const text = new ArrayBuffer(<i32>load<u32>(PAIR, 4));
  if (args_get(changetype<usize>(pointers), changetype<usize>(text)) != 0) return [];
  return texts(pointers, text);
}

/** A variable of the environment, such as WASMJOB_ITEM; null if it is not set. */
export function env(name: string): string | null {
  if (environ_sizes_get(PAIR, PAIR + 4) != 0) return null;
  const pointers = new ArrayBuffer(<i32>(load<u32>(PAIR) * 4));
  const text = new ArrayBuffer(<i32>load<u32>(PAIR, 4));
  if (environ_get(changetype<usize>(pointers), changetype<usize>(text)) != 0) return null;
  const all = texts(pointers, text);
  for (let i = 0; i < all.length; i++) {
    if (all[i].startsWith(name + "=")) return all[i].slice(name.length + 1);
  }
  return null;
}

// Writes a text, piece by piece if the host takes only a part at once. It gives up at an error.
function write(fd: i32, text: string): void {
  const bytes = String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE);
  let from = changetype<usize>(bytes);
  let left = bytes.byteLength;
  while (left > 0) {
    store<u32>(PAIR, <u32>from);
    store<u32>(PAIR, left, 4);
    if (fd_write(fd, PAIR, 1, WRITTEN) != 0) return;
    const n = load<i32>(WRITTEN);
    if (n <= 0) return;
    from += n;
    left -= n;
  }
}

/** Appends text to the result, without a line break. */
export function print(text: string): void { write(1, text); }

/** Writes a line to the log; the last lines are the reason of a failure. */
export function report(text: string): void { write(2, text + "\n"); }

/** Ends the script: 0 is success, anything else a failure with that code. */
export function exit(code: i32): void { proc_exit(code); }

/** Reports the message and fails; the compiler's option `--use abort=…` refers to it. */
export function abort(message: string | null = null, file: string | null = null, line: u32 = 0, column: u32 = 0): void {
  let text = message ? message : "aborted";
  if (file) text += ` (${file}:${line}:${column})`;
  report(text);
  proc_exit(255);
}
