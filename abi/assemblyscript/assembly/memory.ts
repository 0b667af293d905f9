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

  /** The value as text; empty if there is none. */
  get text(): string { return String.UTF8.decode(this.data); }

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
  return n < 0 ? "" : String.UTF8.decodeUnsafe(changetype<usize>(room), n);
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
