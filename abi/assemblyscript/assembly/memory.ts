// Conversion of text and bytes: UTF-8 for the host, AssemblyScript's UTF-16 inside, and
// one buffer that all reads share.

import { Code, nameOf } from "./codes";

/** The result of a read: bytes, or the code that says why there are none. */
export class Value {
  constructor(
    /** `Code.Ok`, or why there is no value. */
    readonly code: Code,
    private readonly data: ArrayBuffer,
  ) {}

  /** Whether there is a value, which may be empty. */
  get ok(): bool { return this.code == Code.Ok; }

  /** The value as text, with U+FFFD for what is not UTF-8; empty if there is none. */
  get text(): string { return decoded(changetype<usize>(this.data), this.data.byteLength); }

  /** The value as bytes; empty if there is none. */
  get bytes(): Uint8Array { return Uint8Array.wrap(this.data); }

  /** The value as text, or `text` if there is none. */
  or(text: string): string { return this.ok ? this.text : text; }

  /** The name of the code, for reasons and log lines. */
  get error(): string { return nameOf(this.code); }
}

const NOTHING = new ArrayBuffer(0);

// The host keeps no pointer after a call and instances have one thread, so one
// buffer is enough for all reads. It grows to the largest value read.
let room = new ArrayBuffer(256);

/** The address to which the host writes values. */
// @ts-ignore: decorator
@inline
export function buf(): usize { return changetype<usize>(room); }

/** The size of that buffer. */
// @ts-ignore: decorator
@inline
export function cap(): i32 { return room.byteLength; }

/** Makes the buffer at least this large. */
export function reserve(size: i32): void {
  if (size > room.byteLength) room = new ArrayBuffer(size);
}

/** Whether a read with the result n must be repeated; the buffer is then large enough. */
export function tooSmall(n: i32): bool {
  if (n <= room.byteLength) return false;
  room = new ArrayBuffer(n);
  return true;
}

/** The value of a read with the result n. */
export function taken(n: i32): Value {
  return n < 0 ? new Value(<Code>n, NOTHING) : new Value(Code.Ok, room.slice(0, n));
}

/** The same as text; empty if there is no value. */
export function takenText(n: i32): string {
  return n < 0 ? "" : decoded(changetype<usize>(room), n);
}

// The UTF-8 at the address as a string, with U+FFFD for each invalid piece, as WHATWG defines it:
// the compiler's own decoder makes other characters of it.
function decoded(from: usize, size: i32): string {
  const end = from + size;
  let valid = true, length = 0;
  for (let at = from, n = 0; at < end; at += abs(n)) {
    n = character(at, end);
    if (n < 0) valid = false;
    length += n < 0 ? 3 : n;
  }
  if (valid) return String.UTF8.decodeUnsafe(from, size);
  const repaired = new ArrayBuffer(length);
  let to = changetype<usize>(repaired);
  for (let at = from, n = 0; at < end; at += abs(n)) {
    n = character(at, end);
    if (n > 0) {
      memory.copy(to, at, n);
      to += n;
    } else {
      store<u16>(to, 0xbfef); // U+FFFD is EF BF BD
      store<u8>(to, 0xbd, 2);
      to += 3;
    }
  }
  return String.UTF8.decode(repaired);
}

// The number of bytes of the character at the address. If it is invalid, the number is negative:
// so many bytes are one piece, the longest with which a character could begin.
function character(at: usize, end: usize): i32 {
  const first = load<u8>(at);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return -1;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The second byte excludes longer forms than needed, surrogates, and what is above U+10FFFF.
  let low: u8 = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  let high: u8 = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (let n = 1; n < length; n++) {
    if (at + n >= end) return -n;
    const next = load<u8>(at + n);
    if (next < low || next > high) return -n;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

/** Half surrogates, which UTF-8 cannot hold, become U+FFFD. */
export function utf8(text: string): ArrayBuffer {
  return String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE);
}

/** The bytes of a string, ArrayBuffer or Uint8Array; other types do not compile. */
export function bytesOf<T>(value: T): ArrayBuffer {
  if (isString<T>()) return utf8(changetype<string>(value));
  if (idof<T>() == idof<ArrayBuffer>()) return changetype<ArrayBuffer>(value);
  if (idof<T>() == idof<Uint8Array>()) {
    const a = changetype<Uint8Array>(value);
    return a.buffer.slice(a.byteOffset, a.byteOffset + a.byteLength);
  }
  ERROR("a value is a string, an ArrayBuffer or an Uint8Array");
}

/** The address of the bytes, for the host. */
// @ts-ignore: decorator
@inline
export function at(bytes: ArrayBuffer): usize { return changetype<usize>(bytes); }
