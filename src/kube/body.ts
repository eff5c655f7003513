// Client: the body of an ordinary answer → a JSON value. Bounded; the raw text is garbage as soon as it is parsed.

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { StoreError } from "../ports/store.ts";
import type { WireAnswer } from "./transport.ts";

const unzip = promisify(gunzip);

export async function readBytes(answer: WireAnswer, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await answer.read((chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  });
  const [only] = chunks;
  const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size);
  if (answer.headers["content-encoding"] !== "gzip") return bytes;
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(maxBytes);
    throw new StoreError("Internal", "the answer is damaged: it does not unzip", { cause });
  }
}

/** Undefined when it is not JSON: an error page of something in between, or a plain "not found". */
export function parseJson(bytes: Buffer, headers: WireAnswer["headers"]): unknown {
  if (!isJson(headers)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return value;
  } catch {
    return undefined;
  }
}

function isJson(headers: WireAnswer["headers"]): boolean {
  const type = headers["content-type"];
  return typeof type === "string" && /^application\/(?:[\w.-]+\+)?json\b/.test(type);
}

function tooLarge(maxBytes: number): StoreError {
  return new StoreError(
    "TooLarge",
    `the answer is larger than ${maxBytes} bytes: ask for smaller pages`,
  );
}
