// Fuzzing of the answers, without sockets: a seed and a number of packets in, what was wrong with an answer out. What an answer
// must be is said here once more, in other words than in the code that writes it.

import { decode } from "dns-packet";
import { createPacketSource } from "./dnsMutation.ts";
import { aDnsWorld, anImport, aSlice, type DnsWorld } from "./dnsWorld.ts";

export interface FuzzOutcome {
  readonly packets: number;
  readonly answered: number;
  readonly dropped: number;
  readonly forwarded: number;
  readonly decoded: number;
  readonly byRcode: Readonly<Record<number, number>>;
  /** Largest answer over UDP as a multiple of its query. */
  readonly amplification: number;
  /** Undefined: all was well. */
  readonly failure: FuzzFailure | undefined;
}

export interface FuzzFailure {
  readonly packet: number;
  readonly sentence: string;
  /** Hexadecimal, to be sent again. */
  readonly query: string;
  readonly isTcp: boolean;
}

const MAX_UDP = 1232;
/** dns-packet is slow: it reads one answer in so many. Ours reads all of them. */
const DECODE_EVERY = 8;

function listWorlds(): readonly DnsWorld[] {
  const label = (letter: string) => letter.repeat(63);
  const many = Array.from({ length: 100 }, (_, at) => `10.1.0.${at} zone=eu-1${"abc"[at % 3]}`);
  const services = [
    { serviceImport: anImport("prod/web", { ips: ["10.9.0.1", "fd09::1"] }), slices: [] },
    { serviceImport: anImport("prod/db"), slices: [aSlice("east", "prod/db", many)] },
    {
      serviceImport: anImport(`${label("n")}/${label("s")}`),
      slices: [aSlice("far", `n/s`, ["fd03::1", "fd03::2 host=pod-0"])],
    },
  ];
  const zone = { zones: ["clusterset.local", "eu.clusterset.local"], nsAddresses: ["192.0.2.1"] };
  return [
    aDnsWorld(services, { zone, limits: { order: "rotate" } }),
    aDnsWorld(services, { zone, limits: { forwards: true } }),
    aDnsWorld(services, { zone, isSynced: false }),
  ];
}

const NAMES = ["clusterset.local", "eu.clusterset.local", "example.org"].flatMap((zone) => [
  zone,
  ...[
    "web.prod.svc",
    "_http._tcp.web.prod.svc",
    "db.prod.svc",
    "_http._tcp.db.prod.svc",
    "10-1-0-7.east.db.prod.svc",
    "east.db.prod.svc",
    "db.prod.svc.eu-1a._zone",
    "eu-1a._zone",
    "prod.svc",
    "dns-version",
    "ns.dns",
    "nothing",
    `${"s".repeat(63)}.${"n".repeat(63)}.svc`,
    `_http._tcp.${"s".repeat(63)}.${"n".repeat(63)}.svc`,
  ].map((name) => `${name}.${zone}`),
]);

export function fuzzDns(options: {
  readonly packets: number;
  readonly seed: number;
  readonly onProgress?: (packets: number) => void;
}): FuzzOutcome {
  const worlds = listWorlds();
  const source = createPacketSource(NAMES, options.seed);
  const out = Buffer.alloc(65_535);
  const byRcode: Record<number, number> = {};
  const counts = { answered: 0, dropped: 0, forwarded: 0, decoded: 0 };
  let amplification = 0;
  let failure: FuzzFailure | undefined;
  let packet = 0;
  for (; packet < options.packets && failure === undefined; packet += 1) {
    // Two in eight know nothing yet, or forward; two are over TCP.
    const world = worlds[packet % 8 === 3 ? 1 : packet % 8 === 5 ? 2 : 0] as DnsWorld;
    const isTcp = packet % 4 === 1;
    const query = source.next();
    const before = packet % 64 === 0 ? Buffer.from(query) : undefined;
    let sentence: string | undefined;
    try {
      const length = world.answerer.answer(query, query.length, out, isTcp);
      if (before !== undefined && !before.equals(query)) sentence = "The query was written to.";
      if (length === 0) counts.dropped += 1;
      else if (length < 0) counts.forwarded += 1;
      else {
        counts.answered += 1;
        const answer = out.subarray(0, length);
        const rcode = (answer[3] ?? 0) & 15;
        byRcode[rcode] = (byRcode[rcode] ?? 0) + 1;
        if (!isTcp) amplification = Math.max(amplification, length / query.length);
        sentence ??= findFault(query, answer, isTcp);
        if (packet % DECODE_EVERY === 0) {
          decode(answer);
          counts.decoded += 1;
        }
      }
      sentence ??= findSilence(query, length, world);
    } catch (error) {
      sentence = `Threw ${String(error)}.`;
    }
    if (sentence !== undefined) failure = { packet, sentence, query: query.toString("hex"), isTcp };
    if (packet % 100_000 === 99_999) options.onProgress?.(packet + 1);
  }
  return { packets: packet, ...counts, byRcode, amplification, failure };
}

/** What is not answered must be one of the two things that may not be. */
function findSilence(query: Buffer, length: number, world: DnsWorld): string | undefined {
  if (length === 0 && query.length >= 12 && (query[2] ?? 0) < 0x80) return "A query was dropped.";
  if (length < 0 && world.answerer.lastZone >= 0) return "A query of our zone was forwarded.";
  return undefined;
}

function findFault(query: Buffer, answer: Buffer, isTcp: boolean): string | undefined {
  if (answer.length < 12) return "The answer is shorter than a header.";
  if (query.length < 12 || (query[2] ?? 0) >= 0x80) return "An answer was answered.";
  if (answer.readUInt16BE(0) !== query.readUInt16BE(0)) return "The id is another.";
  const [flags, rest] = [answer[2] ?? 0, answer[3] ?? 0];
  if ((flags & 0x80) === 0) return "The answer is no answer.";
  if ((flags & 0x79) !== ((query[2] ?? 0) & 0x79)) return "Opcode or RD is another.";
  if ((rest & 0xf0) !== 0) return "RA, AD, CD or Z is set.";
  if (![0, 1, 2, 3, 4, 5].includes(rest & 15)) return "The rcode is none of ours.";
  const walk = walkMessage(answer);
  if (typeof walk === "string") return walk;
  const { questionEnd, opts } = walk;
  if (!answer.subarray(12, questionEnd).equals(query.subarray(12, questionEnd))) {
    return "The question is another.";
  }
  if (opts > 1) return "There are several OPT records.";
  const limit = isTcp ? 65_535 : opts === 0 ? 512 : MAX_UDP;
  return answer.length > limit ? `${answer.length} bytes are more than ${limit}.` : undefined;
}

/** To the last byte, or a sentence about what is wrong on the way. */
function walkMessage(
  message: Buffer,
): string | { readonly questionEnd: number; readonly opts: number } {
  const questions = message.readUInt16BE(4);
  if (questions > 1) return "There is more than one question.";
  let at = 12;
  if (questions === 1) at = skipName(message, at) + 4;
  const questionEnd = at;
  const records = [6, 8, 10].reduce((sum, of) => sum + message.readUInt16BE(of), 0);
  let opts = 0;
  for (let record = 0; record < records; record += 1) {
    const head = skipName(message, at);
    if (head < 0 || head + 10 > message.length) return "A record is cut off.";
    if (message.readUInt16BE(head) === 41) opts += 1;
    at = head + 10 + message.readUInt16BE(head + 8);
  }
  if (at !== message.length) return `The records end at ${at}, the message at ${message.length}.`;
  return { questionEnd, opts };
}

/** Where a name ends; -1: it does not, or its pointers do not lead backwards. */
function skipName(message: Buffer, start: number): number {
  let at = start;
  let end = -1;
  let lowest = start;
  let bytes = 0;
  for (;;) {
    const size = message[at];
    if (size === undefined || (size > 63 && size < 0xc0)) return -1;
    if (size >= 0xc0) {
      if (end < 0) end = at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
      if (at >= lowest || at < 12) return -1;
      lowest = at;
      continue;
    }
    bytes += size + 1;
    if (bytes > 255) return -1;
    at += size + 1;
    if (size === 0) return end < 0 ? at : end;
  }
}
