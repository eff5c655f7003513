// Client: the byte stream of a watch → events, in order. Splits at newlines before decoding, so that neither a character
// nor an event is cut; bounds the length of a line. Never calls back after the first error.

import type { KubeObject, Resource } from "../api/object.ts";
import { StoreError, type WatchEvent } from "../ports/store.ts";
import { createDecoder } from "./decode.ts";
import { isRecord } from "./record.ts";
import { toWatchError } from "./status.ts";

const NEWLINE = 0x0a;

export interface LineSplitter {
  /** Calls back for each line that the chunk completes. */
  push(chunk: Uint8Array): void;
  /** Bytes of an unfinished line. */
  pendingBytes(): number;
}

export function createLineSplitter(
  maxLineBytes: number,
  onLine: (line: string) => void,
): LineSplitter {
  let pieces: Uint8Array[] = [];
  let pending = 0;

  function keep(piece: Uint8Array): void {
    pending += piece.length;
    if (pending > maxLineBytes) {
      throw new StoreError("TooLarge", `a watch event is larger than ${maxLineBytes} bytes`);
    }
    if (piece.length > 0) pieces.push(piece);
  }

  return {
    push(chunk) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(NEWLINE, start);
        if (end < 0) break;
        keep(chunk.subarray(start, end));
        const line = pieces.length === 1 ? toBuffer(pieces[0]) : Buffer.concat(pieces, pending);
        pieces = [];
        pending = 0;
        start = end + 1;
        if (line.length > 0) onLine(line.toString("utf8"));
      }
      keep(chunk.subarray(start));
    },
    pendingBytes: () => pending,
  };
}

/** One line → one event. ERROR events are thrown. */
export function createEventDecoder<T extends KubeObject>(
  resource: Resource<T>,
  attempted: string,
): (line: string) => WatchEvent<T> {
  const decode = createDecoder(resource, attempted);
  return (line) => {
    let event: unknown;
    try {
      event = JSON.parse(line);
    } catch (cause) {
      throw new StoreError("Internal", `a watch event is not JSON (${attempted})`, { cause });
    }
    const type = isRecord(event) ? event["type"] : undefined;
    const object = isRecord(event) ? event["object"] : undefined;
    switch (type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        return { type, object: decode(object) };
      case "BOOKMARK": {
        const { resourceVersion } = decode(object).metadata;
        if (resourceVersion !== undefined) return { type, resourceVersion };
        throw new StoreError("Internal", `a bookmark has no resourceVersion (${attempted})`);
      }
      case "ERROR":
        throw toWatchError(object, attempted);
      default:
        throw new StoreError("Internal", `a watch event has an unknown type (${attempted})`);
    }
  };
}

function toBuffer(bytes: Uint8Array | undefined): Buffer {
  if (bytes === undefined) return Buffer.alloc(0);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
