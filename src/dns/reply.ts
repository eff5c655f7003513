// DNS, writing: a question and rendered records in, the bytes of the answer out, in a buffer of the caller's. Whole records
// only. Nothing is allocated, not even an object of options per call, but for answers that fill the buffer.

import type { Question } from "./message.ts";
import type { RenderedAnswer } from "./table.ts";
import { FLAG, HEADER_BYTES, OPT_BYTES, TYPE } from "./wire.ts";

/** Where the header counts records. */
export const COUNT_AT = { answer: 6, authority: 8, additional: 10 } as const;

/** Up to here a loop is quicker than a call of the built-in copy. */
const LOOP_MAX_BYTES = 128;

/**
 * Header and question; answers where they end. The question goes back byte for byte: some clients hide a secret in its letter
 * case (0x20). So do opcode and "recursion desired"; we offer no recursion, and clear the bits that mean nothing here.
 */
export function writeHead(
  query: Uint8Array,
  question: Question,
  out: Uint8Array,
  rcode: number,
): number {
  const { end } = question;
  for (let at = 0; at < end; at += 1) out[at] = query[at] ?? 0;
  out[2] = ((out[2] ?? 0) & (0x78 | FLAG.RD)) | FLAG.QR;
  out[3] = rcode & 0x0f;
  out[4] = 0;
  out[5] = end > HEADER_BYTES ? 1 : 0;
  for (let at = COUNT_AT.answer; at < HEADER_BYTES; at += 1) out[at] = 0;
  return end;
}

/** What we say of ourselves when the client speaks EDNS; the upper bits of the rcode are here. */
export function writeOpt(
  question: Question,
  out: Uint8Array,
  at: number,
  self: { readonly rcode: number; readonly udpSize: number },
): number {
  out[at] = 0;
  writeShort(out, at + 1, TYPE.OPT);
  writeShort(out, at + 3, self.udpSize);
  out[at + 5] = self.rcode >> 4;
  out[at + 6] = 0;
  // RFC 3225: sent back as it came. That there are no signatures says the rest.
  out[at + 7] = question.dnssecOk;
  out[at + 8] = 0;
  writeShort(out, at + 9, 0);
  addCount(out, COUNT_AT.additional, 1);
  return at + OPT_BYTES;
}

/**
 * The records from the one with the number `first`, all around, as long as they fit below `limit`, then the addresses of
 * their targets if all of those do. Says so when records had to be left out; addresses are no loss (RFC 2181, 9).
 */
export function writeAnswer(
  answer: RenderedAnswer,
  first: number,
  out: Uint8Array,
  at: number,
  limit: number,
): number {
  const { records, starts, additional } = answer;
  const end = at + records.length;
  if (end > limit) return writePart(answer, first, out, at, limit);
  copyAround(records, starts[first] ?? 0, records.length, out, at);
  addCount(out, COUNT_AT.answer, starts.length);
  if (additional.length === 0 || end + additional.length > limit) return end;
  out.set(additional, end);
  addCount(out, COUNT_AT.additional, answer.additionalCount);
  return end + additional.length;
}

function writePart(
  answer: RenderedAnswer,
  first: number,
  out: Uint8Array,
  at: number,
  limit: number,
): number {
  const { records, starts } = answer;
  const room = limit - at;
  const middle = starts[first] ?? 0;
  let bytes = 0;
  let count = 0;
  for (;;) {
    const next = endOf(answer, first + count) - middle;
    if (next > room) break;
    bytes = next;
    count += 1;
  }
  copyAround(records, middle, bytes, out, at);
  addCount(out, COUNT_AT.answer, count);
  out[2] = (out[2] ?? 0) | FLAG.TC;
  return at + bytes;
}
/** Of the record with this number, counting on after the last as if all came once more. */
function endOf({ records, starts }: RenderedAnswer, number: number): number {
  const next = number + 1;
  if (next < starts.length) return starts[next] ?? 0;
  return records.length + (next === starts.length ? 0 : (starts[next - starts.length] ?? 0));
}

/** So many bytes from `middle` on, all around. */
function copyAround(
  records: Uint8Array,
  middle: number,
  bytes: number,
  out: Uint8Array,
  at: number,
): void {
  const { length } = records;
  const tail = Math.min(bytes, length - middle);
  if (bytes <= LOOP_MAX_BYTES) {
    for (let of = 0; of < tail; of += 1) out[at + of] = records[middle + of] ?? 0;
    for (let of = tail; of < bytes; of += 1) out[at + of] = records[of - tail] ?? 0;
  } else if (at + 2 * length <= out.length) {
    // Without a view of a part, which would be garbage: all of it, so that the beginning comes to lie where it belongs; then
    // what lies behind the end goes to the front.
    out.set(records, at + length - middle);
    out.copyWithin(at, at + length, at + 2 * length - middle);
  } else {
    out.set(records.subarray(middle, middle + tail), at);
    out.set(records.subarray(0, bytes - tail), at + tail);
  }
}

export function addCount(out: Uint8Array, at: number, count: number): void {
  writeShort(out, at, (((out[at] ?? 0) << 8) | (out[at + 1] ?? 0)) + count);
}

function writeShort(out: Uint8Array, at: number, value: number): void {
  out[at] = value >> 8;
  out[at + 1] = value & 0xff;
}
