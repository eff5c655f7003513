// Test tool: a DNS client that shares no code with the server under test: questions in, answers as lines of a zone file out.

import { createSocket } from "node:dgram";
import { connect, isIPv6, type Socket } from "node:net";

export const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  HTTPS: 65,
  AXFR: 252,
  ANY: 255,
} as const;
export type TypeName = keyof typeof TYPES;
const TYPE_NAMES = new Map<number, TypeName>(
  Object.entries(TYPES).map(([name, code]) => [code, name as TypeName]),
);
const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"];

export interface Question {
  readonly name: string;
  readonly type: TypeName;
}

export interface Reply {
  readonly rcode: string;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
  /** The name of the question, as it came back. */
  readonly asked: string;
  /** "name ttl TYPE data", names in lower case and with a dot at the end. */
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  /** Without OPT. */
  readonly additional: readonly string[];
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Over UDP, once: a lost packet is a failed test. */
export function askOnce(
  { host, port }: ServerAddress,
  question: Question,
  options: { readonly udpSize?: number; readonly timeoutMs?: number } = {},
): Promise<Reply> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  return new Promise<Reply>((resolve, reject) => {
    const silence = new Error(`no answer from ${host}:${port}`);
    const timer = setTimeout(() => reject(silence), options.timeoutMs ?? 60_000);
    socket.once("message", (message) => resolve(decodeReply(message)));
    socket.once("error", reject);
    socket.send(encodeQuestion(1, question, options.udpSize), port, host);
    socket.once("close", () => clearTimeout(timer));
  }).finally(() => socket.close());
}

/** Servers close a connection after some hundred questions. */
const PER_CONNECTION = 100;

/** Over TCP, whole answers whatever their size, in the order of the questions. */
export async function askAll(
  server: ServerAddress,
  questions: readonly Question[],
): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let at = 0; at < questions.length; at += PER_CONNECTION) {
    replies.push(...(await askSome(server, questions.slice(at, at + PER_CONNECTION))));
  }
  return replies;
}

async function askSome(
  { host, port }: ServerAddress,
  questions: readonly Question[],
): Promise<readonly Reply[]> {
  const socket: Socket = connect(port, host);
  const replies = new Map<number, Reply>();
  try {
    await new Promise<void>((resolve, reject) => {
      let buffer = Buffer.alloc(0);
      socket.setTimeout(60_000, () => reject(new Error(`no answer from ${host}:${port} over TCP`)));
      socket.once("error", reject);
      socket.once("end", () => reject(new Error(`${host}:${port} closed after ${replies.size}`)));
      socket.on("data", (chunk: Buffer) => {
        buffer = Buffer.concat([buffer, chunk]);
        while (buffer.length >= 2 && buffer.length >= 2 + buffer.readUInt16BE(0)) {
          const end = 2 + buffer.readUInt16BE(0);
          replies.set(buffer.readUInt16BE(2), decodeReply(buffer.subarray(2, end)));
          buffer = buffer.subarray(end);
        }
        if (replies.size === questions.length) resolve();
      });
      for (const [id, question] of questions.entries()) {
        const message = encodeQuestion(id, question);
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  } finally {
    socket.destroy();
  }
  return questions.map((_, id) => replies.get(id)!);
}

function encodeQuestion(id: number, { name, type }: Question, udpSize = 4096): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(1, 10);
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(TYPES[type], 0);
  tail.writeUInt16BE(1, 2);
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(TYPES.OPT, 1);
  opt.writeUInt16BE(udpSize, 3);
  return Buffer.concat([header, encodeName(name), tail, opt]);
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, "latin1");
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

export function decodeReply(message: Buffer): Reply {
  const flags = message.readUInt16BE(2);
  const counts = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  const asked = readName(message, 12);
  let at = counts[0] === 0 ? 12 : asked.end + 4;
  const readSection = (count = 0): string[] => {
    const lines: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const record = readRecord(message, at);
      at = record.end;
      if (record.line !== undefined) lines.push(record.line);
    }
    return lines;
  };
  return {
    rcode: RCODES[flags & 15] ?? String(flags & 15),
    isAuthoritative: (flags & 0x0400) !== 0,
    isTruncated: (flags & 0x0200) !== 0,
    asked: asked.name,
    answer: readSection(counts[1]),
    authority: readSection(counts[2]),
    additional: readSection(counts[3]),
  };
}

function readRecord(message: Buffer, start: number): { line: string | undefined; end: number } {
  const { name, end: at } = readName(message, start);
  const type = message.readUInt16BE(at);
  const ttl = message.readUInt32BE(at + 4);
  const data = at + 10;
  const end = data + message.readUInt16BE(at + 8);
  if (type === TYPES.OPT) return { line: undefined, end };
  const typeName = TYPE_NAMES.get(type) ?? `TYPE${type}`;
  const text = readData(message, { type, data, end });
  return { line: `${name.toLowerCase()} ${ttl} ${typeName} ${text}`, end };
}

function readData(
  message: Buffer,
  { type, data, end }: { type: number; data: number; end: number },
): string {
  const nameAt = (at: number): string => readName(message, at).name.toLowerCase();
  switch (type) {
    case TYPES.A:
      return [...message.subarray(data, end)].join(".");
    case TYPES.AAAA:
      return formatIPv6(message.subarray(data, end));
    case TYPES.NS:
    case TYPES.CNAME:
    case TYPES.PTR:
      return nameAt(data);
    case TYPES.SRV: {
      const numbers = [0, 2, 4].map((offset) => message.readUInt16BE(data + offset));
      return `${numbers.join(" ")} ${nameAt(data + 6)}`;
    }
    case TYPES.TXT:
    case TYPES.HINFO: {
      const strings: string[] = [];
      for (let at = data; at < end; at += 1 + message.readUInt8(at)) {
        strings.push(message.toString("latin1", at + 1, at + 1 + message.readUInt8(at)));
      }
      return strings.map((text) => JSON.stringify(text)).join(" ");
    }
    case TYPES.SOA: {
      const mname = readName(message, data);
      const rname = readName(message, mname.end);
      const numbers = [0, 4, 8, 12, 16].map((offset) => message.readUInt32BE(rname.end + offset));
      return `${mname.name.toLowerCase()} ${rname.name.toLowerCase()} ${numbers.join(" ")}`;
    }
    default:
      return message.toString("hex", data, end);
  }
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  let end: number | undefined;
  for (let jumps = 0; ; ) {
    const length = message.readUInt8(at);
    if (length >= 192) {
      end ??= at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
      jumps += 1;
      if (jumps > 20) throw new Error("names point at each other");
      continue;
    }
    if (length === 0) return { name: `${labels.join(".")}.`, end: end ?? at + 1 };
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
}

function formatIPv6(bytes: Buffer): string {
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((at) => bytes.readUInt16BE(at).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
