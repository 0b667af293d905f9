// Every function of the host, as a fake: settings come from the FakeHost, output of the
// module goes to the Run.

const NO_INT = -(2n ** 63n);
const UNKNOWN_FIELD = -1, DENIED = -2, NOT_FOUND = -3, INVALID = -4, LIMIT = -5, WRONG_PHASE = -10;
const TEXTS = { 1: "jobName", 2: "taskId", 3: "jobParam", 4: "param", 5: "instance", 6: "namespace", 7: "moduleDigest", 8: "seed", 9: "runId", 10: "endedReason" };
const NUMBERS = {
  100: "total", 101: "item", 102: "fired", 103: "deadline", 104: "attempt", 105: "failover", 106: "misfire", 108: "streaming",
  109: "fence", 110: "scheduled", 111: "fetchCount",
};
const HOST_MINOR = 107, OUTCOME = 112, FIRE = { 113: "succeeded", 114: "failed", 115: "skipped" };
const NOT_IN_STRATEGIES = [2, 4, 5, 9];
const JOB = ["init", "run", "fire", "fetch", "process"];
const STATE = ["run", "fetch", "process"];

// Returns the imports of a module. host has the settings, run receives the output, and call says
// which entry runs, with its memory and the state as entries have left it.
export function imports(host, run, call) {
  // A range of the memory; pointers and lengths are unsigned.
  const bytes = (at, length) => {
    at >>>= 0;
    length >>>= 0;
    if (at + length > call.memory.buffer.byteLength) throw new RangeError("a range reaches outside of the memory");
    return new Uint8Array(call.memory.buffer, at, length);
  };
  const text = (at, length) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(at, length));
  // A copy of the range: a string if that has the same bytes, which are easier to compare in a test.
  const kept = (at, length) => {
    const copy = bytes(at, length).slice();
    try {
      return new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(copy);
    } catch {
      return copy;
    }
  };
  // Answers a read: with the full length, and the value if it fits.
  const give = (value, at, cap) => {
    if (value === undefined || value === null) return NOT_FOUND;
    const all = typeof value === "string" ? new TextEncoder().encode(value) : value;
    const room = bytes(at, cap);
    if (all.length <= room.length) room.set(all);
    return all.length;
  };
  const answers = []; // open and closed responses; a closed one is null
  const answer = (handle) => answers[handle] ?? null;
  // The function, only in some phases.
  const during = (phases, f) => (...args) => phases.includes(call.phase) ? f(...args) : WRONG_PHASE;
  // The value of a key, but nothing that every object has.
  const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
  const strategy = () => call.phase === "shard";

  const always = {
    ctx_str(field, buf, cap) {
      if (!(field in TEXTS)) return UNKNOWN_FIELD;
      return strategy() && NOT_IN_STRATEGIES.includes(field) ? NOT_FOUND : give(host[TEXTS[field]], buf, cap);
    },
    ctx_int(field) {
      if (field === HOST_MINOR) return 2n;
      if (field === OUTCOME) return BigInt(host.ended ?? NO_INT);
      if (field in FIRE) return BigInt(host.fire?.[FIRE[field]] ?? NO_INT);
      if (!(field in NUMBERS)) return NO_INT;
      return strategy() && field !== 100 ? 0n : BigInt(host[NUMBERS[field]]);
    },
    ctx_json: (buf, cap) => (strategy() ? NOT_FOUND : give(host.json, buf, cap)),
    config_get: (key, klen, buf, cap) => give(own(host.config, text(key, klen)), buf, cap),
    log(level, msg, len) {
      if (level < 0 || level > 4) throw new RangeError("there is no such level");
      run.logs.push({ level, text: text(msg, len) });
    },
    log_level: () => 0,
    error_set(ptr, len) {
      run.reason = text(ptr, len);
      return 0;
    },
  };

  const jobs = {
    result_set(ptr, len) {
      if (len >>> 0 > host.maxResult) return LIMIT;
      run.bytes = bytes(ptr, len).slice();
      return 0;
    },
    cancelled: () => host.stop(),
    metric_add(name, nlen, value) {
      const key = text(name, nlen);
      if (!/^[A-Za-z0-9_.-]{1,64}$/.test(key) || !Number.isFinite(value)) return INVALID;
      if (!(key in run.metrics) && Object.keys(run.metrics).length === 64) return LIMIT;
      run.metrics[key] = (run.metrics[key] ?? 0) + value;
      return 0;
    },
    sleep_ms: (ms) => host.sleep(ms >>> 0),
    random(buf, len) {
      if (!host.random) return DENIED;
      if (len >>> 0 > 65536) return LIMIT;
      bytes(buf, len).set(host.random(len));
      return 0;
    },
    secret_get(name, nlen, buf, cap) {
      const secret = own(host.secrets, text(name, nlen));
      return secret === undefined ? DENIED : give(secret, buf, cap);
    },
    http_request(req, len) {
      if (!host.http) return DENIED;
      const request = parse(text(req, len));
      if (!request) return INVALID;
      const got = host.http(request);
      if (typeof got === "number") return got;
      const body = got.body ?? "";
      return answers.push({
        status: got.status ?? 200, left: typeof body === "string" ? new TextEncoder().encode(body) : body,
        headers: new Headers(got.headers ?? {}),
      }) - 1;
    },
    http_status: (handle) => answer(handle)?.status ?? INVALID,
    http_header(handle, name, nlen, buf, cap) {
      return answer(handle) ? give(answer(handle).headers.get(text(name, nlen)), buf, cap) : INVALID;
    },
    http_read(handle, buf, cap) {
      const a = answer(handle);
      if (!a) return INVALID;
      const piece = a.left.subarray(0, cap >>> 0);
      bytes(buf, cap).set(piece);
      a.left = a.left.subarray(piece.length);
      return piece.length;
    },
    http_close(handle) {
      if (!answer(handle)) return INVALID;
      answers[handle] = null;
      return 0;
    },
  };

  const state = {
    state_get(key, klen, buf, cap) {
      return host.state ? give(call.state.get(text(key, klen)), buf, cap) : DENIED;
    },
    state_set(key, klen, val, vlen) {
      if (!host.state) return DENIED;
      if (klen <= 0 || klen > 256) return INVALID;
      call.state.set(text(key, klen), kept(val, vlen));
      return 0;
    },
    state_delete(key, klen) {
      if (!host.state) return DENIED;
      return call.state.delete(text(key, klen)) ? 0 : NOT_FOUND;
    },
  };

  const element = (index) => run.batch[index >>> 0];
  const process = {
    batch_count: () => run.batch.length,
    batch_read: (index, buf, cap) => (element(index) ? give(element(index), buf, cap) : INVALID),
    batch_ack(index, outcome) {
      if (outcome < 0 || outcome > 2) throw new RangeError("there is no such outcome");
      if (!element(index)) return INVALID;
      run.acks.set(index, outcome);
      return 0;
    },
  };

  const instance = (i) => host.instances[i >>> 0];
  const shard = {
    shard_instance_count: () => host.instances.length,
    shard_instance_id: (i, buf, cap) => (instance(i) ? give(instance(i).id, buf, cap) : INVALID),
    shard_instance_label: (i, key, klen, buf, cap) =>
      (instance(i) ? give(own(instance(i).labels ?? {}, text(key, klen)), buf, cap) : INVALID),
    shard_prev(item) {
      if (item >>> 0 >= host.total) return INVALID;
      return (host.previous[item] ?? -1) < 0 ? NOT_FOUND : host.previous[item];
    },
    shard_assign(item, i) {
      if (item >>> 0 >= host.total || !instance(i)) return INVALID;
      if (run.owners[item] !== undefined) return -9;
      run.owners[item] = i;
      return 0;
    },
  };

  const all = { ...always };
  for (const [phases, functions] of [[JOB, jobs], [STATE, state], [["process"], process], [["shard"], shard]]) {
    for (const [name, f] of Object.entries(functions)) all[name] = during(phases, f);
  }
  all.progress = (done, total) => {
    if (JOB.includes(call.phase)) run.progress = [Number(done), Number(total)];
  };
  all.now_unix_ms = () => BigInt(!JOB.includes(call.phase) ? WRONG_PHASE : host.clock ?? DENIED);
  all.batch_add = during(["fetch"], (ptr, len) => run.batch.push(bytes(ptr, len).slice()) - 1);
  return all;
}

// METHOD URL, lines of headers, an empty line, the body.
function parse(request) {
  const end = /\r?\n\r?\n/.exec(request);
  if (!end) return null;
  const [first, ...lines] = request.slice(0, end.index).split(/\r?\n/);
  const [method, url, more] = first.split(" ");
  if (!/^[A-Z]+$/.test(method) || !URL.canParse(url ?? "") || more !== undefined) return null;
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) return null;
    headers[line.slice(0, colon)] = line.slice(colon + 1).trim();
  }
  return { method, url, headers, body: request.slice(end.index + end[0].length) };
}
