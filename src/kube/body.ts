// Client: an ordinary answer → its status, headers and JSON value. Bounded; the raw text is garbage as soon as it is parsed.

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { StoreError } from "../ports/store.ts";
import type { Head, Receiver } from "./exchange.ts";
import type { Headers } from "./status.ts";

const unzip = promisify(gunzip);

export interface RawAnswer extends Head {
  /** Parsed JSON, or text when it was none. */
  readonly body: unknown;
}

export function receiveBody(head: Head, maxBytes: number): Receiver<RawAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const toAnswer = (bytes: Buffer): RawAnswer => ({
    ...head,
    body: parseJson(bytes, head.headers) ?? bytes.toString("utf8"),
  });
  return {
    take(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    },
    end() {
      const [only] = chunks;
      const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size);
      const isPlain = head.headers["content-encoding"] !== "gzip";
      return isPlain ? toAnswer(bytes) : unpack(bytes, maxBytes).then(toAnswer);
    },
  };
}

async function unpack(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(maxBytes);
    throw new StoreError("Internal", "the answer is damaged: it does not unzip", { cause });
  }
}

/** Undefined when it is not JSON: an error page of something in between, or a plain "not found". */
function parseJson(bytes: Buffer, headers: Headers): unknown {
  if (!isJson(headers)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return value;
  } catch {
    return undefined;
  }
}

function isJson(headers: Headers): boolean {
  const type = headers["content-type"];
  return typeof type === "string" && /^application\/(?:[\w.-]+\+)?json\b/.test(type);
}

function tooLarge(maxBytes: number): StoreError {
  return new StoreError(
    "TooLarge",
    `the answer is larger than ${maxBytes} bytes: ask for smaller pages`,
  );
}
