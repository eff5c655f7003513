// Real sockets on loopback.

import { EventEmitter } from "node:events";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { decodeReply } from "../../test/dns/ask.ts";
import {
  aDnsServer,
  aWorld,
  askUdp,
  BIG,
  CONFIG,
  encodeQuery,
  SILENT_LOG,
  WEB,
  WEB_IP,
} from "../../test/dnsServer.ts";
import { eventually } from "../../test/scenarios/poll.ts";
import { isProblem } from "../api/problem.ts";
import { systemClock } from "../kube/clock.ts";
import { createAnswerer } from "./answer.ts";
import { createCounters, createLayout, DROPS } from "./counters.ts";
import { formatEndpoint } from "./responder.ts";
import { createDnsServer, type DnsServer } from "./server.ts";
import { createTable } from "./table.ts";
import { answerDatagrams } from "./udp.ts";

const LAYOUT = createLayout(1);

function received(server: DnsServer): number {
  return server.report().totals[LAYOUT.transport]!;
}

function dropped(server: DnsServer, why: (typeof DROPS)[number]): number {
  return server.report().totals[LAYOUT.dropped + DROPS.indexOf(why)]!;
}

/** On a port that is free for both. */
async function openBothFamilies() {
  const options = { clock: systemClock, log: SILENT_LOG };
  for (;;) {
    const six = createDnsServer({ ...CONFIG, listen: [{ host: "::1", port: 0 }] }, options);
    const [at] = await six.open();
    await six.close();
    const both = [at!, { host: "127.0.0.1", port: at!.port }];
    const wild = both.map(({ host, port }) => ({ host: host === "::1" ? "::" : "0.0.0.0", port }));
    const server = createDnsServer({ ...CONFIG, listen: wild }, options);
    try {
      await server.open();
      onTestFinished(() => server.close());
      return { server, both };
    } catch (error) {
      if (!isProblem(error, "PortInUse")) throw error;
    }
  }
}

describe("over UDP", () => {
  test("Node's own resolver gets addresses and services, and the error of a name that is not there", async () => {
    const { at } = await aDnsServer();
    const resolver = new Resolver({ tries: 6 });
    resolver.setServers([formatEndpoint(at)]);
    expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    expect(await resolver.resolveSrv(`_http._tcp.${WEB}`)).toMatchObject([{ name: WEB, port: 80 }]);
    await expect(resolver.resolve4(`no.${WEB}`)).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(resolver.resolve6(WEB)).rejects.toMatchObject({ code: "ENODATA" });
  });

  test("it does so on an IPv6 address too, and both families can have the same port", async () => {
    const { server, both } = await openBothFamilies();
    server.markSynced();
    const resolver = new Resolver({ tries: 6 });
    for (const at of both) {
      resolver.setServers([formatEndpoint(at)]);
      await expect(resolver.resolve4(WEB)).rejects.toMatchObject({ code: "ENOTFOUND" });
    }
  });

  test("an answer that does not fit is cut short, and the resolver comes again over TCP", async () => {
    const { at, server } = await aDnsServer();
    const resolver = new Resolver({ tries: 6 });
    resolver.setServers([formatEndpoint(at)]);
    expect(await resolver.resolve4(BIG)).toHaveLength(100);
    expect(server.report().totals[LAYOUT.transport + 1]).toBeGreaterThan(0);
    const answer = await askUdp(at, encodeQuery(BIG, { udpSize: 4_096 }));
    expect(answer.length).toBeLessThanOrEqual(CONFIG.maxUdpSize);
    expect(decodeReply(answer).isTruncated).toBe(true);
  });

  test("nothing is said of a zone before all of it is known: SERVFAIL, never NXDOMAIN", async () => {
    const server = createDnsServer(CONFIG, { clock: systemClock, log: SILENT_LOG });
    const [at] = await server.open();
    onTestFinished(() => server.close());
    expect(decodeReply(await askUdp(at!, encodeQuery(WEB))).rcode).toBe("SERVFAIL");
    server.markSynced();
    expect(decodeReply(await askUdp(at!, encodeQuery(WEB))).rcode).toBe("NXDOMAIN");
  });

  test("what is no query is counted and gets no answer", async () => {
    const { at, server } = await aDnsServer();
    const client = createSocket("udp4");
    onTestFinished(() => void client.close());
    const heard: Buffer[] = [];
    client.on("message", (message) => heard.push(message));
    const response = encodeQuery(WEB);
    response[2] = 0x80;
    for (const bytes of [Buffer.alloc(0), Buffer.from("short"), response]) {
      client.send(bytes, at.port, at.host);
    }
    await eventually("all three are counted", () => {
      expect(dropped(server, "no-query")).toBe(3);
    });
    // In order: the answer to this would come behind any other.
    client.send(encodeQuery(WEB, { id: 99 }), at.port, at.host);
    await eventually("the query is answered", () => {
      expect(heard.map((message) => message.readUInt16BE(0))).toEqual([99]);
    });
  });

  test("a flood larger than any buffer is answered as far as it goes, and the server is well afterwards", async () => {
    const { at, server, complaints } = await aDnsServer();
    const client = createSocket("udp4");
    onTestFinished(() => void client.close());
    const query = encodeQuery(BIG, { udpSize: 1_232 });
    for (let sent = 0; sent < 5_000; sent++) client.send(query, at.port, at.host);
    await eventually("a part of the flood has come in", () => {
      expect(received(server)).toBeGreaterThan(1_000);
    });
    const resolver = new Resolver({ tries: 20, timeout: 500 });
    resolver.setServers([formatEndpoint(at)]);
    expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    expect(complaints).toEqual([]);
  });

  test("a network that asks too much is told to use TCP, with less than it sent, or nothing", async () => {
    const { at, server } = await aDnsServer({ answersPerSecond: 1 }, new VirtualClock());
    const query = encodeQuery(BIG, { udpSize: 1_232 });
    const answers = [await askUdp(at, query), await askUdp(at, query)];
    expect(answers[0]!.length).toBeGreaterThan(500);
    expect(answers[1]!.length).toBeLessThanOrEqual(query.length);
    expect(decodeReply(answers[1]!)).toMatchObject({ isTruncated: true, answer: [] });
    const { totals } = server.report();
    expect(totals[LAYOUT.slipped]).toBe(1);
  });
});

/** A socket whose network takes nothing: what was given to it is read when it would be sent. */
class StuckSocket extends EventEmitter {
  readonly waiting: { readonly bytes: Buffer; readonly length: number }[] = [];
  isStuck = true;

  getSendQueueCount(): number {
    return this.isStuck ? this.waiting.length : 0;
  }

  send(bytes: Buffer, _offset: number, length: number): void {
    this.waiting.push({ bytes, length });
  }

  /** A query, as if it came from there. */
  hear(name: string, port = 5_000): void {
    this.emit("message", encodeQuery(name), { address: "127.0.0.1", port });
  }

  sent(): readonly (readonly string[])[] {
    return this.waiting.map(({ bytes, length }) => decodeReply(bytes.subarray(0, length)).answer);
  }
}

function aStuckSocket() {
  const table = createTable(CONFIG.zones, { ttlSeconds: 5 });
  for (const change of aWorld()) table.replace(change);
  table.markSynced();
  const counters = createCounters(1);
  const socket = new StuckSocket();
  answerDatagrams(socket as never, {
    answerer: createAnswerer(table, { maxUdpSize: 1_232, order: "stable", forwards: false }),
    counters,
    limiter: undefined,
    forwarder: undefined,
    maxUdpSize: 1_232,
    clock: systemClock,
    complain: () => undefined,
  });
  const drops = (why: (typeof DROPS)[number]): number =>
    counters.values[LAYOUT.dropped + DROPS.indexOf(why)]!;
  return { socket, drops };
}

describe("answers that the network does not take at once", () => {
  const names = [WEB, `no.${WEB}`, WEB, BIG, WEB];

  test("stay what they were while others are answered", () => {
    const { socket } = aStuckSocket();
    for (const name of names) socket.hear(name);
    expect(socket.sent().map(({ length }) => length)).toEqual([1, 0, 1, expect.any(Number), 1]);
  });

  test("wait in bounded number; then queries are dropped, until there is room again", () => {
    const { socket, drops } = aStuckSocket();
    for (let count = 0; count < 1_000; count++) socket.hear(WEB);
    expect(socket.waiting).toHaveLength(256);
    expect(drops("send-queue")).toBe(744);
    socket.isStuck = false;
    socket.hear(WEB);
    expect(socket.waiting).toHaveLength(257);
  });

  test("taken at once, need one buffer", () => {
    const { socket } = aStuckSocket();
    socket.isStuck = false;
    for (const name of names) socket.hear(name);
    expect(new Set(socket.waiting.map(({ bytes }) => bytes)).size).toBe(1);
  });
});

test("a query from port 0, where nothing can be sent, is dropped", () => {
  const { socket, drops } = aStuckSocket();
  socket.hear(WEB, 0);
  expect(socket.waiting).toEqual([]);
  expect(drops("bad-source")).toBe(1);
});

describe("an address that cannot be had", () => {
  test("because of another's UDP port is a sentence", async () => {
    const { at } = await aDnsServer();
    const options = { clock: systemClock, log: SILENT_LOG };
    const other = createDnsServer({ ...CONFIG, listen: [at] }, options);
    await expect(other.open()).rejects.toMatchObject({ code: "PortInUse", message: /UDP port/ });
  });

  test("because of another's TCP port is a sentence, and the UDP port is free again", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const listen = [{ host: "127.0.0.1", port }];
    const server = createDnsServer({ ...CONFIG, listen }, { clock: systemClock, log: SILENT_LOG });
    await expect(server.open()).rejects.toMatchObject({ code: "PortInUse", message: /TCP port/ });
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(port, "127.0.0.1", resolve));
    socket.close();
  });

  test("because no interface has it is a sentence", async () => {
    const listen = [{ host: "192.0.2.1", port: 0 }];
    const server = createDnsServer({ ...CONFIG, listen }, { clock: systemClock, log: SILENT_LOG });
    await expect(server.open()).rejects.toMatchObject({
      code: "ArgumentInvalid",
      message: "192.0.2.1 is no address of this machine",
    });
  });
});
