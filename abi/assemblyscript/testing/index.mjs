/**
 * A host for tests of a module's logic with node alone: set the module's input,
 * run an entry, and check its output.
 *
 *     import { FakeHost } from "wasmjob/testing";
 *     const run = await new FakeHost({ item: 1, total: 3 }).execute("build/job.wasm");
 *     assert.equal(run.result, "hello");
 *
 * It runs modules of any language that need of WASI at most arguments, environment,
 * output and exit; those of Go and TinyGo need more. It has no limits of time, memory
 * or size, and does not validate modules: use `wasmjobd exec` and `wasmjobd test` for that.
 */
import { readFile } from "node:fs/promises";
import { imports } from "./imports.mjs";
import { Exit, wasi } from "./wasi.mjs";

/** The module's input. Anything that is not granted here is denied. */
const defaults = {
  jobName: "job", jobParam: "", taskId: "job@-@0@-@READY@-@127.0.0.1@-@1", runId: "job/0/0", instance: "127.0.0.1@-@1",
  namespace: "test", moduleDigest: "", seed: "0123456789abcdef",
  item: 0, total: 1, param: null, attempt: 1, fence: 1, scheduled: 0, fired: 0, deadline: 0, failover: false, misfire: false,
  streaming: false, fetchCount: 0, json: "{}",
  config: {},
  /** The input of wasmjob_after: a result code and a reason; undefined: none. `execute` sets both. */
  ended: undefined, endedReason: undefined,
  /** The input of wasmjob_completed: {succeeded, failed, skipped}; undefined: unknown. */
  fire: undefined,
  /** key: value of the granted state, which runs change if they, or their batches, succeed; undefined: not granted.
   * A value is a string, or a Uint8Array of what is not UTF-8. */
  state: undefined,
  /** name: value of the granted secrets. */
  secrets: {},
  /** The time of a granted clock; undefined: not granted. */
  clock: undefined,
  /** (count) => bytes; undefined: not granted. */
  random: undefined,
  /** ({method, url, headers, body}) => {status, headers, body}, or an error code; undefined: not granted. */
  http: undefined,
  /** () => the reason to stop, or 0. */
  stop: () => 0,
  /** (ms) => 0, or -6 for an interrupted sleep. */
  sleep: () => 0,
  /** The maximum size of a result in bytes. */
  maxResult: 1 << 20,
  /** For strategies: [{id, labels}], and for each item the instance that owns it, or -1. */
  instances: [], previous: [],
};

/** The outcome of a run. `trap` is the text of the fault that ended it, or null. */
class Run {
  code = null;
  trap = null;
  bytes = null; // of the result
  reason = "";
  logs = []; // {level, text}
  metrics = {};
  progress = null; // [done, total]
  batch = []; // of bytes
  acks = new Map();
  owners = []; // the assignment of a strategy

  get result() { return this.bytes === null ? null : new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes); }
  get lines() { return this.logs.map((l) => l.text); }
}

export class FakeHost {
  constructor(settings = {}) {
    for (const name of Object.keys(settings)) {
      if (!(name in defaults)) throw new TypeError(`a fake host has no ${name}`);
    }
    Object.assign(this, defaults, settings);
  }

  /** Runs a simple job, with its listeners before and after. */
  execute(module) {
    return this.#attempt(module, ({ call }) => call("wasmjob_execute", "run"));
  }

  /** Calls a listener: before, after, started or completed. */
  listen(module, name) {
    return this.#run(module, ({ call, keep }) => {
      const ofFire = name === "started" || name === "completed"; // it has no item, and so no state
      if (call(`wasmjob_${name}`, ofFire ? "fire" : "run") === 0) keep();
    });
  }

  /** Runs a dataflow job, with its listeners before and after: one batch, or, if it is streaming, batches until an empty one. */
  dataflow(module) {
    return this.#attempt(module, (guest) => {
      const { run, call, keep, drop } = guest;
      for (let batches = 0; ; batches++) {
        run.batch = [];
        const code = call("wasmjob_fetch", "fetch");
        if (code !== 0 && code !== 3) return;
        if (code === 3 || run.batch.length === 0) {
          if (code === 0) keep();
          else drop();
          run.code = batches > 0 ? 0 : 3;
          return;
        }
        if (processBatch(guest) !== 0) return;
        keep();
        if (!this.streaming || this.stop() !== 0) return;
      }
    });
  }

  /** Runs a strategy; `owners` holds its assignment. */
  shard(module) {
    return this.#run(module, ({ call }) => call("wasmjob_shard", "shard"));
  }

  /** Runs a script: `code` is its exit code, `result` its output, `reason` what it reported. */
  async script(module, args = [], env = {}) {
    const run = new Run();
    const world = wasi(run, ["script.wasm", ...args, this.json], env);
    const instance = await WebAssembly.instantiate(await compile(module), world.imports);
    world.memory = instance.exports.memory;
    try {
      instance.exports._start();
      run.code = 0;
    } catch (e) {
      if (e instanceof Exit) run.code = e.code;
      else run.trap = String(e.message);
    }
    world.finish();
    return run;
  }

  // Runs the entries of a job between its listeners before and after.
  #attempt(module, entries) {
    return this.#run(module, (guest) => {
      const { run, call, has, keep } = guest;
      if (has("wasmjob_before") && call("wasmjob_before", "run") !== 0) return;
      entries(guest);
      const { code, reason } = run;
      if (code === 0) keep(); // also if after traps
      if (run.trap === null && has("wasmjob_after")) {
        Object.assign(this, { ended: code, endedReason: reason || undefined });
        call("wasmjob_after", "run");
        Object.assign(this, { ended: undefined, endedReason: undefined });
        if (code === 0 && run.trap === null) keep();
      }
      Object.assign(run, { code, reason });
    });
  }

  // Runs entries in a new instance of a module. If that traps at its start, no entry is called.
  async #run(module, entries) {
    const guest = await this.#load(module);
    if (guest.run.trap === null) entries(guest);
    return guest.run;
  }

  // Instantiates a module. `call` calls an entry in a phase, `keep` keeps what entries have
  // set in the state since then, `drop` discards it.
  async #load(module) {
    const run = new Run();
    const call = { phase: "init", memory: null, state: null };
    const drop = () => { call.state = new Map(Object.entries(this.state ?? {})); };
    drop();
    const world = wasi(run, [], {});
    const instance = await WebAssembly.instantiate(await compile(module), {
      ...world.imports, wasmjob_v1: imports(this, run, call), env: env(run, call),
    });
    const { exports } = instance;
    if (!exports.wasmjob_abi_v1) throw new Error("the module does not export wasmjob_abi_v1");
    call.memory = world.memory = exports.memory;
    const enter = (name, phase) => {
      call.phase = phase;
      try {
        run.code = exports[name]() ?? 0;
      } catch (e) {
        run.trap = String(e.message);
        run.code = null;
      }
      return run.code;
    };
    const keep = () => {
      if (this.state) this.state = Object.fromEntries(call.state);
    };
    if (exports._initialize) enter("_initialize", "init");
    run.code = null;
    return { run, call: enter, keep, drop, has: (name) => name in exports };
  }
}

// Calls process for the batch, and once more for the elements to be retried. Returns the last result.
function processBatch({ run, call }) {
  for (let again = false; ; again = true) {
    run.acks = new Map();
    const code = call("wasmjob_process", "process");
    const retried = run.batch.filter((_, i) => run.acks.get(i) === 2);
    if (code !== 0 || again || retried.length === 0) return code;
    run.batch = retried;
  }
}

// A module is given as such, as its bytes, or as the path of its file.
async function compile(module) {
  if (module instanceof WebAssembly.Module) return module;
  return WebAssembly.compile(module instanceof Uint8Array ? module : await readFile(module));
}

// The functions that AssemblyScript imports when compiled without the options of this
// package.
function env(run, call) {
  const text = (at) => {
    if (at === 0) return "";
    const length = new DataView(call.memory.buffer).getUint32(at - 4, true);
    return new TextDecoder("utf-16le").decode(new Uint8Array(call.memory.buffer, at, length));
  };
  return {
    abort(message) {
      run.reason = text(message);
      throw new Error(run.reason);
    },
    trace(message) { run.logs.push({ level: 0, text: text(message) }); },
    seed: () => 1,
  };
}
