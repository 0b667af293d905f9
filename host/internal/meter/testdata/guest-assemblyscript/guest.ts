// Work of several kinds for the benchmarks of the meter.

export function loop(n: u32): u32 {
  let h: u32 = 2166136261;
  for (let i: u32 = 0; i < n; i++) {
    h = (h ^ (i & 255)) * 16777619;
    if (h & 1024) h += i;
  }
  return h;
}

export function fib(n: u32): u32 {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/** A document and how far it has been read. */
class Text {
  at: i32 = 0;

  constructor(
    public all: Uint8Array,
    public sum: u64,
  ) {}

  next(): u8 {
    while (this.at < this.all.length && this.all[this.at] <= 0x20) this.at++;
    return this.all[this.at++];
  }

  string(): void {
    while (this.all[this.at] != 0x22) {
      if (this.all[this.at] == 0x5c) this.at++;
      this.sum = this.sum * 31 + this.all[this.at];
      this.at++;
    }
    this.at++;
  }

  number(): void {
    let n: u64 = 0;
    this.at--;
    for (let c = this.all[this.at]; c >= 0x30 && c <= 0x39; c = this.all[this.at]) {
      n = n * 10 + (c - 0x30);
      this.at++;
    }
    this.sum += n;
  }

  value(): void {
    switch (this.next()) {
      case 0x7b: // {
        do {
          this.next();
          this.string();
          this.next();
          this.value();
        } while (this.next() != 0x7d);
        break;
      case 0x5b: // [
        do {
          this.value();
        } while (this.next() != 0x5d);
        break;
      case 0x22: // "
        this.string();
        break;
      default:
        this.number();
    }
  }
}

export function json(n: u32): u32 {
  const orders = new Array<string>();
  for (let i = 0; i < 20; i++) {
    orders.push(
      `{"id": ${i}, "name": "order \\"${i}\\"", "cents": ${i * 7919}, "tags": ["new", "paid"], "ship": {"city": "Ulm", "zip": 89073}}`,
    );
  }
  const all = Uint8Array.wrap(String.UTF8.encode(`{"orders": [${orders.join(", ")}]}`));
  let sum: u64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const t = new Text(all, sum);
    t.value();
    sum = t.sum;
  }
  return <u32>sum;
}

export function bytes(n: u32): u32 {
  const from = new Uint8Array(4096);
  const to = new Uint8Array(4096);
  let h: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    memory.copy(to.dataStart, from.dataStart, 1 + (i % 64));
    memory.fill(from.dataStart, 0, i % 512);
    from[i % 4096] = <u8>i;
    h += to[i % 64];
  }
  return h;
}
