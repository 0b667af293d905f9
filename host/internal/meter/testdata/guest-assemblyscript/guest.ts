// Several kinds of work for the benchmarks of the meter.

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

/** A document, as bytes that end with a 0, and how far it has been read. */
class Text {
  constructor(
    public at: usize,
    public sum: u64,
  ) {}

  next(): u32 {
    let c: u32 = load<u8>(this.at++);
    while (c && c <= 0x20) c = load<u8>(this.at++);
    return c;
  }

  string(): void {
    for (let c: u32 = load<u8>(this.at++); c != 0x22; c = load<u8>(this.at++)) {
      if (c == 0x5c) c = load<u8>(this.at++);
      this.sum = this.sum * 31 + c;
    }
  }

  number(): void {
    let n: u64 = 0;
    this.at--;
    for (let c: u32 = load<u8>(this.at); c >= 0x30 && c <= 0x39; c = load<u8>(this.at)) {
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
  const all = String.UTF8.encode(`{"orders": [${orders.join(", ")}]}`, true);
  let sum: u64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const t = new Text(changetype<usize>(all), sum);
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
