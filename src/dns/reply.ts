// DNS, writing: a question and rendered records in, the bytes of the answer out, in a buffer of the caller's. Whole records
// only; nothing is allocated for answers of the size that UDP has.

import type { Question } from "./message.ts";
import type { RenderedAnswer } from "./table.ts";
import { FLAG, HEADER_BYTES, OPT_BYTES, TYPE } from "./wire.ts";

/** Where the header counts records. */
export const COUNT_AT = { answer: 6, authority: 8, additional: 10 } as const;

/** Up to here a loop is quicker than the view that the built-in copy wants, and leaves no garbage. */
const LOOP_MAX_BYTES = 1500;

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
  if (at + records.length > limit) return writePart(answer, first, out, at, limit);
  const middle = starts[first] ?? 0;
  copyBytes(records, middle, records.length, out, at);
  copyBytes(records, 0, middle, out, at + records.length - middle);
  addCount(out, COUNT_AT.answer, starts.length);
  const end = at + records.length;
  if (additional.length === 0 || end + additional.length > limit) return end;
  copyBytes(additional, 0, additional.length, out, end);
  addCount(out, COUNT_AT.additional, answer.additionalCount);
  return end + additional.length;
}

function writePart(
  { records, starts }: RenderedAnswer,
  first: number,
  out: Uint8Array,
  start: number,
  limit: number,
): number {
  let at = start;
  let count = 0;
  for (let number = first; count < starts.length; count += 1) {
    const from = starts[number] ?? 0;
    const to = number + 1 < starts.length ? (starts[number + 1] ?? 0) : records.length;
    if (at + to - from > limit) break;
    copyBytes(records, from, to, out, at);
    at += to - from;
    number = number + 1 < starts.length ? number + 1 : 0;
  }
  addCount(out, COUNT_AT.answer, count);
  out[2] = (out[2] ?? 0) | FLAG.TC;
  return at;
}

function copyBytes(
  source: Uint8Array,
  from: number,
  to: number,
  out: Uint8Array,
  at: number,
): void {
  if (to - from > LOOP_MAX_BYTES) out.set(source.subarray(from, to), at);
  else for (let of = 0; of < to - from; of += 1) out[at + of] = source[from + of] ?? 0;
}

export function addCount(out: Uint8Array, at: number, count: number): void {
  writeShort(out, at, (((out[at] ?? 0) << 8) | (out[at + 1] ?? 0)) + count);
}

function writeShort(out: Uint8Array, at: number, value: number): void {
  out[at] = value >> 8;
  out[at + 1] = value & 0xff;
}
