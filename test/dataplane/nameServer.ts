// Test double: a name server on loopback that says what a test wants it to say, for every name.

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
  says: Says;
  /** Questions so far. */
  asked: number;
}

const RCODES = { SERVFAIL: 2, NXDOMAIN: 3 } as const;
const A = 1;

/** Closed when the test ends. */
export async function startNameServer(says: Says): Promise<NameServer> {
  const socket = createSocket("udp4");
  const server = { address: "", says, asked: 0 };
  socket.on("message", (question, { address, port }) => {
    server.asked += 1;
    const answer = answerQuestion(question, server.says);
    if (answer !== undefined) socket.send(answer, port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  server.address = `127.0.0.1:${socket.address().port}`;
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
    const data = type === A ? Buffer.from(address.split(".").map(Number)) : encodeLoopback6();
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

/** The only IPv6 address that tests have. */
function encodeLoopback6(): Buffer {
  const data = Buffer.alloc(16);
  data[15] = 1;
  return data;
}
