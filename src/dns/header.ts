// DNS: whole messages in, the same cut to header and question out, with another id, or saying that it failed. Touches nothing behind
// the question. Pure; bytes that are no message are never read beyond their length.

import { FLAG, HEADER_BYTES, OPT_BYTES, RCODE, TYPE } from "./wire.ts";

/** In byte 3: the one who answers would ask others too. */
const FLAG_RA = 0x80;

/** Where the one question ends; 0 when there is none, or it is not whole. Compressed names are none: a question has nothing to point at. */
export function questionEnd(message: Uint8Array, length: number): number {
  if (length < HEADER_BYTES || message[4] !== 0 || message[5] !== 1) return 0;
  let at = HEADER_BYTES;
  for (;;) {
    const size = message[at] ?? 0;
    if (at >= length || size > 63) return 0;
    at += size + 1;
    if (size === 0) break;
  }
  at += 4;
  return at <= length ? at : 0;
}

/**
 * An answer that says: ask again over TCP. Written over the message; answers its length. An empty OPT record at the very end, where ours
 * is, stays: a client that sent one expects it.
 */
export function cutToQuestion(message: Uint8Array, length: number): number {
  const end = questionEnd(message, length) || HEADER_BYTES;
  const opt = length - OPT_BYTES;
  const hasOpt =
    opt >= end &&
    message[11] !== 0 &&
    message[opt] === 0 &&
    message[opt + 1] === 0 &&
    message[opt + 2] === TYPE.OPT &&
    message[length - 1] === 0 &&
    message[length - 2] === 0;
  message[2] = (message[2] ?? 0) | FLAG.TC;
  message.fill(0, end === HEADER_BYTES ? 4 : 6, HEADER_BYTES);
  if (!hasOpt) return end;
  message.copyWithin(end, opt, length);
  message[11] = 1;
  return end + OPT_BYTES;
}

/** The query as an answer that says nothing yet, written to `out`; answers its length. */
export function writeEmptyAnswer(query: Uint8Array, out: Uint8Array): number {
  out.set(query);
  out[2] = ((out[2] ?? 0) & 0x79) | FLAG.QR;
  out[3] = FLAG_RA;
  return query.length;
}

/** What is said when nobody could be asked: the question again and SERVFAIL. Empty when the query has no question. */
export function renderServfail(query: Uint8Array): Buffer {
  const end = questionEnd(query, query.length);
  if (end === 0) return Buffer.alloc(0);
  const message = Buffer.from(query.subarray(0, end));
  message[2] = ((message[2] ?? 0) & 0x79) | FLAG.QR;
  message[3] = FLAG_RA | RCODE.SERVFAIL;
  message.fill(0, 6, HEADER_BYTES);
  return message;
}

/** A response with one question, which is the query's to the byte but for case; id is not looked at. */
export function isResponseTo(response: Uint8Array, query: Uint8Array): boolean {
  const end = questionEnd(query, query.length);
  if (end === 0 || questionEnd(response, response.length) !== end) return false;
  if (((response[2] ?? 0) & FLAG.QR) === 0) return false;
  for (let at = HEADER_BYTES; at < end; at++) {
    if (lower(response[at] ?? 0) !== lower(query[at] ?? 0)) return false;
  }
  return true;
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

export function isTruncated(message: Uint8Array): boolean {
  return ((message[2] ?? 0) & FLAG.TC) !== 0;
}

export function idOf(message: Uint8Array): number {
  return ((message[0] ?? 0) << 8) | (message[1] ?? 0);
}

export function setId(message: Uint8Array, id: number): void {
  message[0] = id >>> 8;
  message[1] = id & 0xff;
}

export function rcodeOf(message: Uint8Array): number {
  return (message[3] ?? 0) & 0x0f;
}
