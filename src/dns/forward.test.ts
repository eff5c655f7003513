// Real sockets on loopback: an upstream that does what a test tells it to.

import { createSocket, type RemoteInfo } from "node:dgram";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { settle, VirtualClock } from "../../test/clock.ts";
import { decodeReply } from "../../test/dns/ask.ts";
import { aDnsServer, askUdp, encodeQuery, frame, TcpClient, WEB } from "../../test/dnsServer.ts";
import { eventually } from "../../test/scenarios/poll.ts";
import { systemClock } from "../kube/clock.ts";
import type { Clock } from "../ports/clock.ts";
import { createCounters } from "./counters.ts";
import { createForwarder, IN_FLIGHT_MAX } from "./forward.ts";
import type { Endpoint } from "./responder.ts";

const NAME = "example.org";

/** What the upstream says to a query; several messages are said in turn. */
type Script = (query: Buffer, client: RemoteInfo) => readonly Buffer[];

interface Upstream {
  readonly at: Endpoint;
  readonly queries: Buffer[];
  readonly clients: RemoteInfo[];
  readonly tcpQueries: Buffer[];
}

async function anUpstream(script: Script, overTcp?: (query: Buffer) => Buffer): Promise<Upstream> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => void socket.close());
  const { port } = socket.address();
  const upstream: Upstream = {
    at: { host: "127.0.0.1", port },
    queries: [],
    clients: [],
    tcpQueries: [],
  };
  socket.on("message", (query, client) => {
    upstream.queries.push(query);
    upstream.clients.push(client);
    for (const message of script(query, client)) socket.send(message, client.port, client.address);
  });
  if (overTcp !== undefined) {
    const server = createServer((connection) => {
      connection.on("error", () => undefined);
      connection.on("data", (chunk: Buffer) => {
        const query = chunk.subarray(2);
        upstream.tcpQueries.push(query);
        connection.end(frame(overTcp(query)));
      });
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
  }
  return upstream;
}

/** With an address record for each octet. */
function respond(query: Buffer, ...octets: readonly number[]): Buffer {
  const hasOpt = query.readUInt16BE(10) > 0;
  const question = hasOpt ? query.subarray(0, -11) : query;
  const head = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4];
  const records = octets.flatMap((octet) => [...head, 192, 0, 2, octet]);
  const message = Buffer.concat([question, Buffer.from(records)]);
  message[2] = 0x81;
  message[3] = 0x80;
  message.writeUInt16BE(octets.length, 6);
  message.writeUInt16BE(0, 10);
  return message;
}

function truncated(query: Buffer): Buffer {
  const message = respond(query);
  message[2] = 0x83;
  return message;
}

const many = Array.from({ length: 60 }, (_, index) => index);

function forwardOnce(
  servers: readonly Endpoint[],
  options: { readonly clock?: Clock; readonly isTcp?: boolean } = {},
): Promise<Buffer> {
  const { clock = systemClock, isTcp = false } = options;
  const forwarder = createForwarder({
    servers,
    maxUdpSize: 1_232,
    counters: createCounters(1),
    clock,
  });
  onTestFinished(() => forwarder.close());
  return new Promise((resolve) => forwarder.forward(encodeQuery(NAME), isTcp, resolve));
}

describe("a query for another zone", () => {
  test("is answered by the upstream, with the id that the client chose; our own names stay ours", async () => {
    const upstream = await anUpstream((query) => [respond(query, 7)]);
    const { at } = await aDnsServer({ forward: [upstream.at] });
    const answer = await askUdp(at, encodeQuery(NAME, { id: 0x0102 }));
    expect(answer.readUInt16BE(0)).toBe(0x0102);
    expect(decodeReply(answer).answer).toEqual([`${NAME}. 60 A 192.0.2.7`]);
    expect(decodeReply(await askUdp(at, encodeQuery(WEB))).isAuthoritative).toBe(true);
    expect(upstream.queries).toHaveLength(1);
  });

  test("is refused when there is no upstream", async () => {
    const { at } = await aDnsServer();
    expect(decodeReply(await askUdp(at, encodeQuery(NAME))).rcode).toBe("REFUSED");
  });

  test("goes out with an id and from a port that cannot be foreseen", async () => {
    const upstream = await anUpstream((query) => [respond(query, 1)]);
    for (let count = 0; count < 20; count++) await forwardOnce([upstream.at]);
    expect(new Set(upstream.queries.map((query) => query.readUInt16BE(0))).size).toBeGreaterThan(
      15,
    );
    expect(new Set(upstream.clients.map(({ port }) => port)).size).toBeGreaterThan(5);
  });

  test("over UDP is told to use TCP when the answer is too long for the client", async () => {
    const upstream = await anUpstream((query) => [respond(query, ...many)]);
    const { at } = await aDnsServer({ forward: [upstream.at] });
    const short = decodeReply(await askUdp(at, encodeQuery(NAME)));
    expect(short).toMatchObject({ isTruncated: true, answer: [] });
    const long = decodeReply(await askUdp(at, encodeQuery(NAME, { udpSize: 4_096 })));
    expect(long.answer).toHaveLength(60);
  });

  test("from a network that asks too much is told to use TCP, and the upstream is not asked", async () => {
    const upstream = await anUpstream((query) => [respond(query, ...many)]);
    const limits = { forward: [upstream.at], answersPerSecond: 1 };
    const { at } = await aDnsServer(limits, new VirtualClock());
    const query = encodeQuery(NAME, { udpSize: 1_232, id: 0x0203 });
    expect((await askUdp(at, query)).length).toBeGreaterThan(500);
    const slipped = await askUdp(at, query);
    expect(slipped.length).toBeLessThanOrEqual(query.length);
    expect(slipped.readUInt16BE(0)).toBe(0x0203);
    expect(decodeReply(slipped)).toMatchObject({ rcode: "NOERROR", isTruncated: true, answer: [] });
    expect(upstream.queries).toHaveLength(1);
  });

  test("over TCP is asked again over TCP when the upstream cut its answer", async () => {
    const upstream = await anUpstream(
      (query) => [truncated(query)],
      (query) => respond(query, ...many),
    );
    const { at } = await aDnsServer({ forward: [upstream.at] });
    const client = await new TcpClient(at).connected();
    client.send(frame(encodeQuery(NAME, { id: 5 }), encodeQuery(WEB, { id: 6 })));
    const answers = await client.received(2);
    const byId = new Map(answers.map((answer) => [answer.readUInt16BE(0), decodeReply(answer)]));
    expect(byId.get(5)?.answer).toHaveLength(60);
    expect(byId.get(6)?.answer).toHaveLength(1);
    expect(upstream.tcpQueries).toHaveLength(1);
  });

  test("that a client asked before it closed its side is still answered", async () => {
    const upstream = await anUpstream((query) => [respond(query, 3)]);
    const { at } = await aDnsServer({ forward: [upstream.at] });
    const client = await new TcpClient(at).connected();
    client.socket.end(frame(...Array.from({ length: 40 }, (_, id) => encodeQuery(NAME, { id }))));
    const answers = await client.received(40);
    expect(new Set(answers.map((answer) => answer.readUInt16BE(0))).size).toBe(40);
    await client.closed;
  });
});

describe("an answer counts only", () => {
  test.each<[string, (query: Buffer) => Buffer]>([
    [
      "with the right id",
      (query) => {
        const wrong = respond(query, 66);
        wrong.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0);
        return wrong;
      },
    ],
    [
      "to the right question",
      (query) => {
        const other = encodeQuery("example.com", { id: query.readUInt16BE(0) });
        return respond(other, 66);
      },
    ],
    ["if it is one", (query) => query],
    ["when it is whole", (query) => respond(query, 66).subarray(0, 14)],
    ["when it is anything", () => Buffer.alloc(0)],
  ])("%s: whatever else comes is not heard", async (_, forge) => {
    const upstream = await anUpstream((query) => [forge(query), respond(query, 1)]);
    const answer = decodeReply(await forwardOnce([upstream.at]));
    expect(answer.answer).toEqual([`${NAME}. 60 A 192.0.2.1`]);
  });

  test("from the server that was asked", async () => {
    const liar = createSocket("udp4");
    onTestFinished(() => void liar.close());
    const upstream = await anUpstream((query, client) => {
      liar.send(respond(query, 66), client.port, client.address, () => {
        said();
      });
      return [];
    });
    let said: () => void = () => undefined;
    const lied = new Promise<void>((resolve) => {
      said = resolve;
    });
    const clock = new VirtualClock();
    const asked = forwardOnce([upstream.at], { clock });
    await lied;
    const answer = await untilAnswered(clock, asked);
    expect(decodeReply(answer).rcode).toBe("SERVFAIL");
  });
});

/** Lets time pass until it comes. */
async function untilAnswered(clock: VirtualClock, asked: Promise<Buffer>): Promise<Buffer> {
  const none = Symbol("none yet");
  return eventually("there is an answer", async () => {
    await clock.advance(500);
    const answer = await Promise.race([asked, settle().then(() => none)]);
    if (typeof answer === "symbol") throw new Error(answer.description);
    return answer;
  });
}

describe("an upstream that is no help", () => {
  test("silent, is passed over for the next", async () => {
    const silent = await anUpstream(() => []);
    const good = await anUpstream((query) => [respond(query, 2)]);
    const clock = new VirtualClock();
    const answer = await untilAnswered(clock, forwardOnce([silent.at, good.at], { clock }));
    expect(decodeReply(answer).answer).toEqual([`${NAME}. 60 A 192.0.2.2`]);
    expect(silent.queries).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test("with nothing but a refusal, is passed over for the next; the refusal counts when nobody does better", async () => {
    const refusing = await anUpstream((query) => {
      const refused = respond(query);
      refused[3] = 0x85;
      return [refused];
    });
    const good = await anUpstream((query) => [respond(query, 2)]);
    const clock = new VirtualClock();
    const answer = await forwardOnce([refusing.at, good.at], { clock });
    expect(decodeReply(answer).answer).toHaveLength(1);
    const none = await forwardOnce([refusing.at, refusing.at], { clock });
    expect(decodeReply(none).rcode).toBe("REFUSED");
  });

  test("not there at all, is passed over at once", async () => {
    const gone = createSocket("udp4");
    await new Promise<void>((resolve) => gone.bind(0, "127.0.0.1", resolve));
    const at = { host: "127.0.0.1", port: gone.address().port };
    await new Promise<void>((resolve) => gone.close(() => resolve()));
    const good = await anUpstream((query) => [respond(query, 2)]);
    // Time stands still: nothing is waited for.
    const answer = await forwardOnce([at, good.at], { clock: new VirtualClock() });
    expect(decodeReply(answer).answer).toHaveLength(1);
    const none = await forwardOnce([at], { clock: new VirtualClock() });
    expect(decodeReply(none).rcode).toBe("SERVFAIL");
  });

  test("where no route leads, is passed over at once, and ends nothing but the attempt", async () => {
    // Nobody may send there without asking the kernel first: as with a route that is gone, connecting fails.
    const nowhere = { host: "255.255.255.255", port: 53 };
    const good = await anUpstream((query) => [respond(query, 2)]);
    const answer = await forwardOnce([nowhere, good.at], { clock: new VirtualClock() });
    expect(decodeReply(answer).answer).toHaveLength(1);
    const none = await forwardOnce([nowhere], { clock: new VirtualClock() });
    expect(decodeReply(none).rcode).toBe("SERVFAIL");
  });

  test("silent for all, costs a bounded number of sockets: more queries learn at once that there is no answer", async () => {
    const silent = await anUpstream(() => []);
    const clock = new VirtualClock();
    const counters = createCounters(1);
    const forwarder = createForwarder({ servers: [silent.at], maxUdpSize: 1_232, counters, clock });
    const answers: Buffer[] = [];
    for (let count = 0; count < IN_FLIGHT_MAX + 100; count++) {
      forwarder.forward(encodeQuery(NAME), false, (answer) => answers.push(answer));
    }
    expect(forwarder.inFlight()).toBe(IN_FLIGHT_MAX);
    await eventually("the hundred are told", () => {
      expect(answers).toHaveLength(100);
    });
    expect(answers.every((answer) => decodeReply(answer).rcode === "SERVFAIL")).toBe(true);
    forwarder.close();
    expect(forwarder.inFlight()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
