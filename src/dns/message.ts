// DNS, reading: the bytes of a query in, the question in a reusable struct and a verdict out. Never throws, never allocates,
// never follows a pointer: what a question may not have cannot lead anywhere.

import { LOWER_CASE, NAME_MAX_BYTES } from "./name.ts";
import { FLAG, HEADER_BYTES, POINTER, RCODE, RECORD_HEAD_BYTES, TYPE } from "./wire.ts";

/** Filled anew by each readQuery. */
export interface Question {
  /** Lower case, wire form: the first nameLength bytes. */
  readonly name: Uint8Array;
  nameLength: number;
  /** Where each label begins in `name`. */
  readonly labels: Uint8Array;
  labelCount: number;
  type: number;
  class: number;
  /** How many bytes of the query to send back: header and question, or the header alone when there is no readable question. */
  end: number;
  hasEdns: boolean;
  /** As the client states it; 0 without EDNS. */
  udpSize: number;
  /** The client's DNSSEC-OK bit, in its place in the third byte of OPT's TTL. */
  dnssecOk: number;
}

export function createQuestion(): Question {
  return {
    name: new Uint8Array(NAME_MAX_BYTES + 1),
    nameLength: 0,
    labels: new Uint8Array(NAME_MAX_BYTES + 1),
    labelCount: 0,
    type: 0,
    class: 0,
    end: HEADER_BYTES,
    hasEdns: false,
    udpSize: 0,
    dnssecOk: 0,
  };
}

/** Not to be answered at all: too short for a header, or itself an answer (two servers would talk forever). */
export const DROP = -1;

/** DROP, or the rcode to answer with; NOERROR: the question is readable. */
export function readQuery(query: Uint8Array, length: number, question: Question): number {
  question.nameLength = 0;
  question.labelCount = 0;
  question.type = 0;
  question.class = 0;
  question.end = HEADER_BYTES;
  question.hasEdns = false;
  question.udpSize = 0;
  question.dnssecOk = 0;
  if (length < HEADER_BYTES || length > query.length) return DROP;
  const flags = query[2] ?? 0;
  if ((flags & FLAG.QR) !== 0) return DROP;
  if ((flags & 0x78) !== 0) return RCODE.NOTIMP;
  if (readShort(query, 4) !== 1) return RCODE.FORMERR;
  const afterName = readName(query, length, question);
  if (afterName < 0 || afterName + 4 > length) {
    question.nameLength = 0;
    question.labelCount = 0;
    return RCODE.FORMERR;
  }
  question.type = readShort(query, afterName);
  question.class = readShort(query, afterName + 2);
  question.end = afterName + 4;
  return readCounts(query) === 0 ? RCODE.NOERROR : readRecords(query, length, question);
}

/** Records that follow the question. */
function readCounts(query: Uint8Array): number {
  return readShort(query, 6) + readShort(query, 8) + readShort(query, 10);
}

/** Position after the name of the question; -1 for what is no name there, such as a pointer. */
function readName(query: Uint8Array, length: number, question: Question): number {
  const { name, labels } = question;
  let at = HEADER_BYTES;
  let end = 0;
  for (;;) {
    if (at >= length) return -1;
    const size = query[at] ?? 0;
    if (size === 0) break;
    if (size >= 64 || at + size >= length || end + size + 2 > NAME_MAX_BYTES) return -1;
    labels[question.labelCount] = end;
    question.labelCount += 1;
    name[end] = size;
    for (let of = 1; of <= size; of += 1) name[end + of] = LOWER_CASE[query[at + of] ?? 0] ?? 0;
    at += size + 1;
    end += size + 1;
  }
  name[end] = 0;
  question.nameLength = end + 1;
  return at + 1;
}

/** Walks over what follows the question, to find OPT. Each record has at least 11 bytes, so the message bounds the walk. */
function readRecords(query: Uint8Array, length: number, question: Question): number {
  const before = readShort(query, 6) + readShort(query, 8);
  const all = readCounts(query);
  let at = question.end;
  let isVersionKnown = true;
  for (let record = 0; record < all; record += 1) {
    const head = skipName(query, at, length);
    if (head < 0 || head + RECORD_HEAD_BYTES > length) return RCODE.FORMERR;
    const end = head + RECORD_HEAD_BYTES + readShort(query, head + 8);
    if (end > length) return RCODE.FORMERR;
    if (record >= before && readShort(query, head) === TYPE.OPT) {
      // One at most, of the root (RFC 6891, 6.1.1). Its options, cookies among them, are not for us.
      if (question.hasEdns || head !== at + 1) return RCODE.FORMERR;
      question.hasEdns = true;
      question.udpSize = readShort(query, head + 2);
      isVersionKnown = query[head + 5] === 0;
      question.dnssecOk = (query[head + 6] ?? 0) & 0x80;
    }
    at = end;
  }
  return isVersionKnown ? RCODE.NOERROR : RCODE.BADVERS;
}

/** Position after a name that may end in a pointer, which is not followed; -1 for what is no name. */
function skipName(query: Uint8Array, start: number, length: number): number {
  let at = start;
  while (at < length) {
    const size = query[at] ?? 0;
    if (size === 0) return at + 1;
    if (size >= POINTER) return at + 2;
    if (size >= 64) return -1;
    at += size + 1;
  }
  return -1;
}

export function readShort(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
