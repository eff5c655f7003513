// DNS, the hot path: bytes of a query and the table in, bytes of the answer out. No clock, and no allocation worth naming.

import { createQuestion, DROP, type Question, readQuery } from "./message.ts";
import { addCount, COUNT_AT, writeAnswer, writeHead, writeOpt } from "./reply.ts";
import { SOA_BYTES, writeSoa } from "./soa.ts";
import type { RenderedAnswer, Table } from "./table.ts";
import {
  CLASS_IN,
  FLAG,
  HEADER_BYTES,
  MESSAGE_MAX_BYTES,
  OPT_BYTES,
  RCODE,
  TYPE,
  UDP_MIN_BYTES,
} from "./wire.ts";

export interface AnswerLimits {
  /** Largest answer over UDP, whatever the client allows; 512 without EDNS. */
  readonly maxUdpSize: number;
  /** Which record comes first: another one each time, or always the same. */
  readonly order: "rotate" | "stable";
}

export interface Answerer {
  /**
   * Bytes written to `out`, which should hold 65535 bytes and must hold 512; 0: do not answer; -1: not our zone and forwarding
   * is on (nothing is written then). What lies behind the answer in `out` may be overwritten. Never throws, whatever the bytes.
   */
  answer(query: Uint8Array, length: number, out: Buffer, isTcp: boolean): number;
  /** Of the last answer, for counters. Index in the table's zones; -1: none of ours. */
  readonly lastZone: number;
  /** The type asked for, as a number; 0: the question could not be read. */
  readonly lastType: number;
  readonly lastRcode: number;
}

export function createAnswerer(
  table: Table,
  limits: AnswerLimits & { readonly forwards: boolean },
): Answerer {
  return new TableAnswerer(table, limits);
}

/** Stands for all records of a name, as RFC 8482 has it: nobody needs them at once but who floods others with them. */
const REFUSAL_OF_ANY = renderRefusalOfAny();

/** Steps of this size visit all places evenly, whichever of the queries are for one name. */
const GOLDEN_STEP = 0x9e3779b9;

class TableAnswerer implements Answerer {
  lastZone = -1;
  lastType = 0;
  lastRcode = 0;
  readonly #table: Table;
  readonly #udpSize: number;
  readonly #rotates: boolean;
  readonly #forwards: boolean;
  readonly #question: Question = createQuestion();
  readonly #opt = { rcode: 0, udpSize: 0 };
  /** Zones with more labels first: the closest one answers. */
  readonly #zoneOrder: readonly number[];
  #turn = 0;

  constructor(table: Table, limits: AnswerLimits & { readonly forwards: boolean }) {
    this.#table = table;
    this.#udpSize = Math.min(Math.max(limits.maxUdpSize, UDP_MIN_BYTES), MESSAGE_MAX_BYTES);
    this.#rotates = limits.order === "rotate";
    this.#forwards = limits.forwards;
    this.#zoneOrder = table.zones
      .map((_, index) => index)
      .sort((a, b) => (table.zones[b]?.labelCount ?? 0) - (table.zones[a]?.labelCount ?? 0));
    this.#opt.udpSize = this.#udpSize;
  }

  answer(query: Uint8Array, length: number, out: Buffer, isTcp: boolean): number {
    const question = this.#question;
    const verdict = readQuery(query, length, question);
    this.lastZone = -1;
    this.lastType = question.type;
    this.lastRcode = 0;
    if (verdict === DROP || out.length < UDP_MIN_BYTES) return 0;
    if (verdict !== RCODE.NOERROR) return this.#refuse(query, out, verdict);
    const { type } = question;
    if (question.class !== CLASS_IN || type === TYPE.AXFR || type === TYPE.IXFR) {
      return this.#refuse(query, out, RCODE.REFUSED);
    }
    const zone = this.#findZone(question);
    if (zone < 0) return this.#forwards ? -1 : this.#refuse(query, out, RCODE.REFUSED);
    this.lastZone = zone;
    // That a name does not exist cannot be said before all names are known.
    if (!this.#table.isSynced) return this.#refuse(query, out, RCODE.SERVFAIL);
    const answers = this.#table.find(question.name, question.nameLength);
    if (answers === undefined) return this.#deny(query, out, RCODE.NXDOMAIN);
    for (let at = 0; at < answers.length; at += 1) {
      const answer = answers[at];
      if (answer !== undefined && answer.type === type) {
        return this.#affirm(query, out, answer, isTcp);
      }
    }
    if (type === TYPE.SOA && question.labelCount === this.#table.zones[zone]?.labelCount) {
      return this.#giveSoa(query, out, RCODE.NOERROR, COUNT_AT.answer);
    }
    if (type === TYPE.ANY && answers.length > 0) {
      return this.#affirm(query, out, REFUSAL_OF_ANY, isTcp);
    }
    return this.#deny(query, out, RCODE.NOERROR);
  }

  /** Index of the zone that the name is in; -1: none of ours. */
  #findZone({ name, labels, labelCount }: Question): number {
    for (const index of this.#zoneOrder) {
      const zone = this.#table.zones[index];
      if (zone === undefined || zone.labelCount > labelCount) continue;
      const start = labels[labelCount - zone.labelCount] ?? 0;
      if (endsWith(name, start, zone.name)) return index;
    }
    return -1;
  }

  #affirm(query: Uint8Array, out: Buffer, answer: RenderedAnswer, isTcp: boolean): number {
    const question = this.#question;
    const at = writeHead(query, question, out, RCODE.NOERROR);
    out[2] = (out[2] ?? 0) | FLAG.AA;
    const limit = this.#limit(out, isTcp) - (question.hasEdns ? OPT_BYTES : 0);
    const first = this.#rotates ? this.#next(answer.starts.length) : 0;
    return this.#close(writeAnswer(answer, first, out, at, limit), out, RCODE.NOERROR);
  }

  /** A place among so many: each comes first equally often. */
  #next(count: number): number {
    if (count === 1) return 0;
    this.#turn = (this.#turn + GOLDEN_STEP) >>> 0;
    return Math.floor((this.#turn / 0x1_0000_0000) * count);
  }

  #limit(out: Buffer, isTcp: boolean): number {
    if (isTcp) return Math.min(out.length, MESSAGE_MAX_BYTES);
    const asked = Math.max(this.#question.udpSize, UDP_MIN_BYTES);
    return Math.min(out.length, asked, this.#udpSize);
  }

  /** NODATA or NXDOMAIN: the SOA says how long that may be kept (R79). */
  #deny(query: Uint8Array, out: Buffer, rcode: number): number {
    return this.#giveSoa(query, out, rcode, COUNT_AT.authority);
  }

  /** Always fits: question, SOA and OPT are 336 bytes at most. */
  #giveSoa(query: Uint8Array, out: Buffer, rcode: number, section: number): number {
    const question = this.#question;
    const at = writeHead(query, question, out, rcode);
    out[2] = (out[2] ?? 0) | FLAG.AA;
    const zone = this.#table.zones[this.lastZone];
    const zoneAt = HEADER_BYTES + question.nameLength - (zone?.name.length ?? 0);
    writeSoa(this.#table.soa, zoneAt, out, at);
    addCount(out, section, 1);
    return this.#close(at + SOA_BYTES, out, rcode);
  }

  #refuse(query: Uint8Array, out: Buffer, rcode: number): number {
    return this.#close(writeHead(query, this.#question, out, rcode), out, rcode);
  }

  #close(end: number, out: Buffer, rcode: number): number {
    this.lastRcode = rcode;
    if (!this.#question.hasEdns) return end;
    this.#opt.rcode = rcode;
    return writeOpt(this.#question, out, end, this.#opt);
  }
}

/** To the zero that ends both. */
function endsWith(name: Uint8Array, start: number, zone: Uint8Array): boolean {
  for (let at = 0; at < zone.length; at += 1) if (name[start + at] !== zone[at]) return false;
  return true;
}

function renderRefusalOfAny(): RenderedAnswer {
  const text = "RFC8482";
  const data = [text.length, ...Buffer.from(text), 0];
  const ttlSeconds = 3600;
  const head = [
    0xc0,
    HEADER_BYTES,
    0,
    TYPE.HINFO,
    0,
    CLASS_IN,
    0,
    0,
    ttlSeconds >> 8,
    ttlSeconds & 255,
  ];
  return {
    type: TYPE.ANY,
    records: Uint8Array.from([...head, 0, data.length, ...data]),
    starts: Uint32Array.of(0),
    additional: new Uint8Array(0),
    additionalCount: 0,
  };
}
