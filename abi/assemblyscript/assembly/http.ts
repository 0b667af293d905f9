// HTTP requests, as far as the grant `http` allows them.

import { Code, nameOf } from "./codes";
import * as host from "./imports";
import { Value, at, buf, bytesOf, cap, reserve, taken, tooSmall, utf8 } from "./memory";

const PIECE: i32 = 64 * 1024;

// A line break would add lines to the head of a request.
function broken(text: string): bool {
  return text.includes("\n") || text.includes("\r");
}

/**
 * A request: `new Request("GET", url).send()`. In the value of a header,
 * `{{secret:name}}` stands for a granted secret.
 */
export class Request {
  private head: string;
  private content: ArrayBuffer = new ArrayBuffer(0);
  private sound: bool;

  constructor(method: string, url: string) {
    this.head = method + " " + url + "\n";
    this.sound = !broken(method) && !broken(url);
  }

  /** Adds a header. A request with an invalid one is not sent. */
  header(name: string, value: string): Request {
    this.sound = this.sound && name.length > 0 && !broken(name) && !name.includes(":") && !broken(value);
    this.head += name + ": " + value + "\n";
    return this;
  }

  /** Sets the body. */
  body<T>(value: T): Request {
    this.content = bytesOf<T>(value);
    return this;
  }

  /** Sends the request and waits for the head of the response. */
  send(): Response {
    if (!this.sound) return new Response(<i32>Code.Invalid);
    const head = utf8(this.head + "\n");
    const all = new ArrayBuffer(head.byteLength + this.content.byteLength);
    memory.copy(at(all), at(head), head.byteLength);
    memory.copy(at(all) + head.byteLength, at(this.content), this.content.byteLength);
    return new Response(host.http_request(at(all), all.byteLength));
  }
}

/** A response, with any status; `ok` is false if there is none. */
export class Response {
  constructor(private readonly handle: i32) {}

  /** `Code.Ok`, or why there is no response. */
  get code(): Code { return this.handle < 0 ? <Code>this.handle : Code.Ok; }
  get ok(): bool { return this.handle >= 0; }
  /** The name of the code, for reasons and log lines. */
  get error(): string { return nameOf(this.code); }

  /** The status, such as 200 or 404; negative, a `Code`, if there is no response. */
  get status(): i32 { return this.ok ? host.http_status(this.handle) : this.handle; }

  /** A header; several of one name are joined by ", ". */
  header(name: string): Value {
    if (!this.ok) return taken(this.handle);
    const k = utf8(name);
    let n: i32;
    do { n = host.http_header(this.handle, at(k), k.byteLength, buf(), cap()); } while (tooSmall(n));
    return taken(n);
  }

  /** The next bytes of the body, at most `size`; none at its end. */
  read(size: i32 = PIECE): Value {
    if (!this.ok) return taken(this.handle);
    reserve(size);
    return taken(host.http_read(this.handle, buf(), size));
  }

  /** The rest of the body; closes the response. */
  body(): Value {
    if (!this.ok) return taken(this.handle);
    let all = new ArrayBuffer(PIECE);
    let length = 0;
    let n: i32;
    while ((n = host.http_read(this.handle, at(all) + length, all.byteLength - length)) > 0) {
      length += n;
      if (length == all.byteLength) {
        const larger = new ArrayBuffer(2 * length);
        memory.copy(at(larger), at(all), length);
        all = larger;
      }
    }
    this.close();
    return n < 0 ? taken(n) : new Value(Code.Ok, all.slice(0, length));
  }

  /** Closes the response; open ones are closed when the entry returns. */
  close(): Code { return this.ok ? <Code>host.http_close(this.handle) : this.code; }
}
