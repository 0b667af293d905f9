// The parts of WASI that scripts and reactors need: arguments, environment, output, exit.
// Standard output is the result, standard error the reason.

/** Ends a script. */
export class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

const BAD_DESCRIPTOR = 8, NOT_SUPPORTED = 52;

// Returns the imports, to which the caller adds the memory; finish passes the output to run.
export function wasi(run, args, environment) {
  const output = { 1: [], 2: [] };
  const view = () => new DataView(world.memory.buffer);
  // How WASI returns a list of texts: their number and size, then pointers and the texts.
  const list = (texts) => {
    const all = texts.map((t) => new TextEncoder().encode(`${t}\0`));
    return {
      sizes(count, size) {
        view().setUint32(count, all.length, true);
        view().setUint32(size, all.reduce((n, t) => n + t.length, 0), true);
        return 0;
      },
      get(pointers, at) {
        for (const t of all) {
          view().setUint32(pointers, at, true);
          new Uint8Array(world.memory.buffer).set(t, at);
          pointers += 4;
          at += t.length;
        }
        return 0;
      },
    };
  };
  const argv = list(args);
  const env = list(Object.entries(environment).map(([k, v]) => `${k}=${v}`));
  const known = {
    args_sizes_get: argv.sizes, args_get: argv.get, environ_sizes_get: env.sizes, environ_get: env.get,
    fd_write(fd, pieces, count, written) {
      if (!output[fd]) return BAD_DESCRIPTOR;
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = view().getUint32(pieces + 8 * i, true), length = view().getUint32(pieces + 8 * i + 4, true);
        output[fd].push(new Uint8Array(world.memory.buffer, at, length).slice());
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
    proc_exit(code) { throw new Exit(code); },
  };
  const world = {
    memory: null,
    imports: { wasi_snapshot_preview1: new Proxy(known, { get: (all, name) => all[name] ?? (() => NOT_SUPPORTED), has: () => true }) },
    finish() {
      run.bytes = Buffer.concat(output[1]);
      run.reason = Buffer.concat(output[2]).toString();
    },
  };
  return world;
}
