// Real sockets on loopback; time is moved by hand, so that nothing waits for it.

import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { decodeReply } from "../../test/dns/ask.ts";
import { aDnsServer, BIG, encodeQuery, frame, TcpClient, WEB } from "../../test/dnsServer.ts";
import { eventually } from "../../test/scenarios/poll.ts";
import { createLayout, type Drop, DROPS } from "./counters.ts";
import type { ServerConfig } from "./server.ts";

const LAYOUT = createLayout(1);

async function aServer(fields: Partial<ServerConfig> = {}) {
  const clock = new VirtualClock();
  const { server, at, complaints } = await aDnsServer(fields, clock);
  const open = (): Promise<TcpClient> => new TcpClient(at).connected();
  const dropped = (why: Drop): number =>
    server.report().totals[LAYOUT.dropped + DROPS.indexOf(why)]!;
  const received = (): number => server.report().totals[LAYOUT.transport + 1]!;
  /** As the server sees them. */
  const connections = (): number => server.report().tcpConnections;
  const holds = (count: number): Promise<void> =>
    eventually(`${count} connections`, () => {
      expect(connections()).toBe(count);
    });
  return { clock, open, dropped, received, connections, holds, complaints };
}

describe("over TCP", () => {
  test("a client asks as often as it likes, and gets whole answers in order", async () => {
    const { open } = await aServer();
    const client = await open();
    const queries = Array.from({ length: 500 }, (_, id) =>
      encodeQuery(id % 2 === 0 ? WEB : BIG, { id }),
    );
    client.send(frame(...queries));
    const answers = await client.received(500);
    expect(answers.map((answer) => answer.readUInt16BE(0))).toEqual(queries.map((_, id) => id));
    expect(decodeReply(answers[1]!)).toMatchObject({ isTruncated: false });
    expect(decodeReply(answers[1]!).answer).toHaveLength(100);
  });

  test("queries may come in any pieces", async () => {
    const { open } = await aServer();
    const client = await open();
    for (const byte of frame(encodeQuery(WEB, { id: 1 }), encodeQuery(WEB, { id: 2 }))) {
      client.send(Buffer.from([byte]));
    }
    expect(await client.received(2)).toHaveLength(2);
  });

  test("who asks and closes his side still gets his answers, and the connection ends", async () => {
    const { open, holds } = await aServer();
    const client = await open();
    client.socket.end(frame(encodeQuery(WEB), encodeQuery(BIG)));
    await client.closed;
    expect(client.answers).toHaveLength(2);
    await holds(0);
  });
});

describe("a connection is cut", () => {
  test("when nothing is asked for ten seconds, and no sooner", async () => {
    const { clock, open, dropped, holds } = await aServer();
    const client = await open();
    await holds(1);
    await clock.advance(9_000);
    client.send(frame(encodeQuery(WEB)));
    await client.received(1);
    await clock.advance(9_000);
    expect(client.socket.closed).toBe(false);
    await clock.advance(2_000);
    await client.closed;
    expect(dropped("tcp-idle")).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test("when a query comes a byte a second: bytes are not progress", async () => {
    const { clock, open, dropped, holds } = await aServer();
    const client = await open();
    await holds(1);
    for (const byte of frame(encodeQuery(WEB)).subarray(0, 11)) {
      client.send(Buffer.from([byte]));
      await clock.advance(1_000);
    }
    await client.closed;
    expect(dropped("tcp-idle")).toBe(1);
  });

  test("when answers are not read, and no more is taken in meanwhile", async () => {
    const { clock, open, dropped, received, connections } = await aServer();
    const client = await open();
    client.socket.pause();
    // More than the kernel keeps, both ways: some megabytes.
    const sent = 200_000;
    const hundred = frame(...Array.from({ length: 100 }, () => encodeQuery(BIG)));
    for (let count = 0; count < sent; count += 100) client.send(hundred);
    await eventually("it is cut", async () => {
      await clock.advance(500);
      expect(connections()).toBe(0);
    });
    expect(dropped("tcp-unread")).toBe(1);
    expect(received()).toBeGreaterThan(100);
    expect(received()).toBeLessThan(sent / 2);
  });

  test.each([
    ["is shorter than a header", Buffer.from([0, 5, 1, 2, 3, 4, 5])],
    ["is longer than any query", Buffer.from([0xff, 0xff, 1, 2])],
    ["is nothing", Buffer.from([0, 0])],
  ])("when a length %s", async (_, bytes) => {
    const { open, dropped } = await aServer();
    const client = await open();
    client.send(bytes);
    await client.closed;
    expect(dropped("tcp-length")).toBe(1);
  });

  test("when it speaks something else, such as HTTP or TLS", async () => {
    const { open, complaints } = await aServer();
    for (const text of ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01"]) {
      const client = await open();
      client.send(Buffer.from(text, "latin1"));
      await client.closed;
    }
    expect(complaints).toEqual([]);
  });

  test("when it is an answer and not a query", async () => {
    const { open, dropped } = await aServer();
    const client = await open();
    const response = encodeQuery(WEB);
    response[2] = 0x80;
    client.send(frame(response));
    await client.closed;
    expect(client.answers).toEqual([]);
    expect([dropped("no-query"), dropped("tcp-length")]).toEqual([1, 0]);
  });

  test("when there are too many: the one that was quiet for longest makes room, and new ones are served", async () => {
    const { open, dropped, holds, complaints } = await aServer({ maxTcpConnections: 50 });
    const first = await open();
    first.send(frame(encodeQuery(WEB)));
    await first.received(1);
    const idle: TcpClient[] = [];
    for (let count = 0; count < 49; count++) idle.push(await open());
    await holds(50);
    first.send(frame(encodeQuery(WEB)));
    await first.received(2);
    const come = async (): Promise<void> => {
      const late = await open();
      late.send(frame(encodeQuery(WEB)));
      await late.received(1);
    };
    for (let count = 0; count < 49; count++) await come();
    await Promise.all(idle.map(({ closed }) => closed));
    first.send(frame(encodeQuery(WEB)));
    await first.received(3);
    for (let count = 49; count < 200; count++) await come();
    await holds(50);
    expect(dropped("tcp-crowded")).toBe(200);
    expect(complaints).toEqual([]);
  });

  test("when the client resets it in the middle, without harm to others", async () => {
    const { open, holds, complaints } = await aServer();
    const clients = await Promise.all(Array.from({ length: 20 }, open));
    await holds(20);
    for (const client of clients.slice(1)) {
      client.send(frame(encodeQuery(BIG), encodeQuery(BIG)).subarray(0, -3));
      client.socket.resetAndDestroy();
    }
    await holds(1);
    clients[0]!.send(frame(encodeQuery(WEB)));
    await clients[0]!.received(1);
    expect(complaints).toEqual([]);
  });

  test("when the server ends, at once if nothing is under way", async () => {
    const clock = new VirtualClock();
    const { server, at } = await aDnsServer({}, clock);
    const client = await new TcpClient(at).connected();
    client.send(frame(encodeQuery(WEB)));
    await client.received(1);
    await Promise.all([server.close(), client.closed]);
    expect(clock.pendingTimers).toBe(0);
  });
});
