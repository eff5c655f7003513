// Test double: a name server that says what a test wants it to say, for every name.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** Addresses, by family, or an rcode, or nothing at all. */
export type Says =
  | { readonly 4?: readonly string[]; readonly 6?: readonly string[] }
  | "NXDOMAIN"
  | "SERVFAIL"
  | "silence";

export interface NameServer {
  /** As a resolver wants it. */
  readonly address: string;
  readonly port: number;
  says: Says;
  /** Questions so far. */
  asked: number;
}

const RCODES = { SERVFAIL: 2, NXDOMAIN: 3 } as const;
const A = 1;

/** Closed when the test ends. Listens on all addresses of both families; `address` names the loopback's. */
export async function startNameServer(says: Says): Promise<NameServer> {
  const socket = createSocket("udp6");
  const server = { address: "", port: 0, says, asked: 0 };
  socket.on("message", (question, { address, port }) => {
    server.asked += 1;
    const answer = answerQuestion(question, server.says);
    if (answer !== undefined) socket.send(answer, port, address);
  });
  socket.bind(0, "::");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  server.port = socket.address().port;
  server.address = `127.0.0.1:${server.port}`;
  return server;
}

function answerQuestion(question: Buffer, says: Says): Buffer | undefined {
  if (says === "silence") return undefined;
  const end = question.indexOf(0, 12) + 5;
  const type = question.readUInt16BE(end - 4);
  const addresses = typeof says === "string" ? [] : (says[type === A ? 4 : 6] ?? []);
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(0x8180 | (typeof says === "string" ? RCODES[says] : 0), 2);
  header.writeUInt16BE(addresses.length, 6);
  // Whatever the question had besides, as EDNS, is not repeated.
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const data = type === A ? Buffer.from(address.split(".").map(Number)) : encodeAddress6(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(5, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, question.subarray(12, end), ...records]);
}

function encodeAddress6(address: string): Buffer {
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill("0");
  const data = Buffer.alloc(16);
  [...groups(head), ...zeros, ...groups(tail)].forEach((group, index) => {
    data.writeUInt16BE(Number.parseInt(group, 16), 2 * index);
  });
  return data;
}
