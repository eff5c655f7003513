import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type NameServer, type Says, startNameServer } from "../nameServer.ts";
import { encodeAnswer } from "./answer.ts";
import { type Asker, createAsker } from "./ask.ts";
import { startBackend } from "./serve.ts";
import type { Family, FlowProtocol } from "./tally.ts";

const HERE: Says = { 4: ["127.0.0.1"], 6: ["::1"] };
/** Never waited for: what is asked there is answered or refused. */
const LONG_MS = 30_000;
/** Waited for: whoever is asked there says nothing. */
const SHORT_MS = 1_000;

const FLOWS = (["tcp", "udp", "http"] as const).flatMap((protocol) =>
  ([4, 6] as const).map((family) => ({ protocol, family })),
);
const OVER_CONNECTIONS = ["tcp", "http"] as const;

function anAsker(options: {
  readonly protocol: FlowProtocol;
  readonly family?: Family;
  readonly port: number;
  readonly names: NameServer;
  readonly timeoutMs?: number;
  readonly connectMs?: number;
}): Asker {
  const { protocol, family = 4, port, names, timeoutMs = LONG_MS, connectMs = LONG_MS } = options;
  const target = { name: "web.shop.example", port, dns: names.address, timeoutMs, connectMs };
  const asker = createAsker({ protocol, family }, target);
  onTestFinished(() => asker.close());
  return asker;
}

async function aBackend(): Promise<Readonly<Record<FlowProtocol, number>>> {
  const ports = { tcp: 0, udp: 0, http: 0 };
  const options = { cluster: "west", pod: "web-0", ports, drainMs: 0, quietMs: 0, lingerMs: 0 };
  const backend = await startBackend(options);
  onTestFinished(() => backend.drain());
  return backend.ports;
}

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "::");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function aUdpServer(answer: (question: string) => string | undefined): Promise<number> {
  const socket = createSocket("udp6");
  socket.on("message", (message, { address, port }) => {
    const text = answer(message.toString());
    if (text !== undefined) socket.send(text, port, address);
  });
  socket.bind(0, "::");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return socket.address().port;
}

async function aClosedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, "::");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A program listens that takes nothing, and its kernel's queue is full: who connects hears nothing. */
async function aFullPort(): Promise<number> {
  const program = `
    const server = require("node:net").createServer();
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      require("node:fs").writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(chunk.toString());
  for (let queued = 0; queued < 2; queued += 1) {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
  }
  return port;
}

/** Of either protocol: the connection is taken, and this is what becomes of it. */
function takeConnections(onData: (socket: Socket) => void): Promise<number> {
  return listen(
    createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => onData(socket));
    }),
  );
}

test.each(FLOWS)("over $protocol and IPv$family the pod that answered is known", async (flow) => {
  const ports = await aBackend();
  const names = await startNameServer(HERE);
  const asker = anAsker({ ...flow, port: ports[flow.protocol], names });
  const address = flow.family === 4 ? "127.0.0.1" : "::1";
  for (let i = 0; i < 3; i += 1) {
    expect(await asker.ask()).toEqual({ address, cluster: "west", pod: "web-0" });
  }
});

test.each(FLOWS)("over $protocol and IPv$family a closed port is a refusal", async (flow) => {
  const names = await startNameServer(HERE);
  const asker = anAsker({ ...flow, port: await aClosedPort(), names });
  expect(await asker.ask()).toMatchObject({ reason: "refused" });
  expect(await asker.ask()).toMatchObject({ reason: "refused" });
});

test.each(FLOWS)("over $protocol and IPv$family a name that is not there is told", async (flow) => {
  const names = await startNameServer("NXDOMAIN");
  const asker = anAsker({ ...flow, port: 1, names });
  expect(await asker.ask()).toEqual({ reason: "name not found", what: "NXDOMAIN" });
});

test.each(FLOWS)("over $protocol and IPv$family a missing address is told", async (flow) => {
  const names = await startNameServer(flow.family === 4 ? { 6: ["::1"] } : { 4: ["127.0.0.1"] });
  const asker = anAsker({ ...flow, port: 1, names });
  expect(await asker.ask()).toMatchObject({ reason: "no address" });
});

test.each(FLOWS)("over $protocol and IPv$family a failing name server is told", async (flow) => {
  const names = await startNameServer("SERVFAIL");
  const asker = anAsker({ ...flow, port: 1, names });
  expect(await asker.ask()).toMatchObject({ reason: "name server" });
});

test.each(["tcp", "udp", "http"] as const)(
  "over %s a silent name server is told",
  async (protocol) => {
    const names = await startNameServer("silence");
    const asker = anAsker({ protocol, port: 1, names, timeoutMs: SHORT_MS });
    expect(await asker.ask()).toMatchObject({ reason: "name server" });
  },
);

test.each(["tcp", "udp"] as const)(
  "over %s a name that goes away is noticed by the next request",
  async (protocol) => {
    const ports = await aBackend();
    const names = await startNameServer(HERE);
    const asker = anAsker({ protocol, port: ports[protocol], names });
    expect(await asker.ask()).toHaveProperty("pod");
    names.says = "NXDOMAIN";
    expect(await asker.ask()).toMatchObject({ reason: "name not found" });
    names.says = HERE;
    expect(await asker.ask()).toHaveProperty("pod");
    expect(names.asked).toBe(3);
  },
);

test("HTTP resolves the name once for each connection", async () => {
  let connections = 0;
  let isLast = false;
  const answer: RequestListener = (request, response) => {
    const nonce = new URL(request.url ?? "", "http://x").searchParams.get("nonce") ?? "";
    if (isLast) response.setHeader("connection", "close");
    response.end(encodeAnswer({ cluster: "west", pod: "web-0", from: "", nonce }));
  };
  const server = createHttpServer(answer).on("connection", () => (connections += 1));
  const names = await startNameServer(HERE);
  const asker = anAsker({ protocol: "http", port: await listen(server), names });
  for (let i = 0; i < 3; i += 1) {
    expect(await asker.ask()).toHaveProperty("pod");
    await nextTurn();
  }
  expect([connections, names.asked]).toEqual([1, 1]);
  isLast = true;
  expect(await asker.ask()).toHaveProperty("pod");
  await nextTurn();
  names.says = "NXDOMAIN";
  expect(await asker.ask()).toMatchObject({ reason: "name not found" });
});

test.each(OVER_CONNECTIONS)("over %s a connection that is reset is a failure", async (protocol) => {
  const port = await takeConnections((socket) => socket.resetAndDestroy());
  const asker = anAsker({ protocol, port, names: await startNameServer(HERE) });
  expect(await asker.ask()).toMatchObject({ address: "127.0.0.1", reason: "reset" });
});

test.each(OVER_CONNECTIONS)(
  "over %s a connection that ends without an answer is a failure",
  async (protocol) => {
    const port = await takeConnections((socket) => socket.end());
    const asker = anAsker({ protocol, port, names: await startNameServer(HERE) });
    expect(await asker.ask()).toMatchObject({ reason: "reset" });
  },
);

test.each(OVER_CONNECTIONS)("over %s half an answer is a failure", async (protocol) => {
  const half = protocol === "http" ? "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{" : '{"clus';
  const port = await takeConnections((socket) => socket.end(half));
  const asker = anAsker({ protocol, port, names: await startNameServer(HERE) });
  expect(await asker.ask()).toMatchObject({ reason: "reset" });
});

test("a request on a connection kept open that is reset is a failure, and is not asked again behind our back", async () => {
  let requests = 0;
  const server = createHttpServer((request, response) => {
    requests += 1;
    const nonce = new URL(request.url ?? "", "http://x").searchParams.get("nonce") ?? "";
    if (requests === 2) request.socket.resetAndDestroy();
    else response.end(encodeAnswer({ cluster: "west", pod: "web-0", from: "", nonce }));
  });
  const names = await startNameServer(HERE);
  const asker = anAsker({ protocol: "http", port: await listen(server), names });
  expect(await asker.ask()).toHaveProperty("pod");
  await nextTurn();
  const outcome = await asker.ask();
  expect(outcome).toMatchObject({ address: "127.0.0.1", reason: "reset" });
  expect(outcome).toHaveProperty("what", expect.stringContaining("on the connection kept open"));
  expect(requests).toBe(2);
  expect(await asker.ask()).toHaveProperty("pod");
  expect(names.asked).toBe(2);
});

test.each(["tcp", "udp", "http"] as const)(
  "over %s silence is a failure once its time is over",
  async (protocol) => {
    const port =
      protocol === "udp" ? await aUdpServer(() => undefined) : await takeConnections(() => {});
    const names = await startNameServer(HERE);
    const asker = anAsker({ protocol, port, names, timeoutMs: SHORT_MS });
    expect(await asker.ask()).toMatchObject({ address: "127.0.0.1", reason: "timeout" });
  },
);

test.each(OVER_CONNECTIONS)(
  "over %s a connection that does not come about has less time than an answer",
  async (protocol) => {
    const names = await startNameServer(HERE);
    const asker = anAsker({ protocol, port: await aFullPort(), names, connectMs: SHORT_MS });
    const what = `no connection within ${SHORT_MS} ms`;
    expect(await asker.ask()).toEqual({ address: "127.0.0.1", reason: "timeout", what });
  },
);

test.each(OVER_CONNECTIONS)(
  "over %s the time for a connection is not that of the answer",
  async (protocol) => {
    const port = await takeConnections(() => {});
    const names = await startNameServer(HERE);
    const times = { timeoutMs: 2 * SHORT_MS, connectMs: SHORT_MS };
    const asker = anAsker({ protocol, port, names, ...times });
    const what = `no answer within ${2 * SHORT_MS} ms`;
    expect(await asker.ask()).toMatchObject({ reason: "timeout", what });
  },
);

test.each(["tcp", "udp", "http"] as const)(
  "over %s the answer to another request is a wrong one or none",
  async (protocol) => {
    const text = encodeAnswer({ cluster: "west", pod: "web-0", from: "", nonce: "another" });
    const port =
      protocol === "udp"
        ? await aUdpServer(() => text)
        : await takeConnections((socket) =>
            socket.end(
              protocol === "tcp"
                ? text
                : `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
            ),
          );
    const timeoutMs = protocol === "udp" ? SHORT_MS : LONG_MS;
    const asker = anAsker({ protocol, port, names: await startNameServer(HERE), timeoutMs });
    const reason = protocol === "udp" ? "timeout" : "wrong answer";
    expect(await asker.ask()).toMatchObject({ reason });
  },
);

test.each(["tcp", "udp", "http"] as const)(
  "over %s an answer that is none is wrong",
  async (protocol) => {
    const port =
      protocol === "udp"
        ? await aUdpServer(() => "hello\n")
        : await takeConnections((socket) =>
            socket.end(protocol === "tcp" ? "hello\n" : "HTTP/1.1 200 OK\r\n\r\nhello"),
          );
    const asker = anAsker({ protocol, port, names: await startNameServer(HERE) });
    expect(await asker.ask()).toMatchObject({ reason: "wrong answer" });
  },
);

test("an HTTP status other than 200 is a wrong answer, whatever it says", async () => {
  const server = createHttpServer((request, response) => {
    const nonce = new URL(request.url ?? "", "http://x").searchParams.get("nonce") ?? "";
    response.statusCode = 503;
    response.end(encodeAnswer({ cluster: "west", pod: "web-0", from: "", nonce }));
  });
  const names = await startNameServer(HERE);
  const asker = anAsker({ protocol: "http", port: await listen(server), names });
  expect(await asker.ask()).toMatchObject({ reason: "wrong answer", what: "HTTP status 503" });
});

test.each(OVER_CONNECTIONS)("over %s an answer without end is a wrong one", async (protocol) => {
  const head = protocol === "http" ? "HTTP/1.1 200 OK\r\n\r\n" : "";
  const port = await takeConnections((socket) => socket.write(head + "x".repeat(5000)));
  const asker = anAsker({ protocol, port, names: await startNameServer(HERE) });
  expect(await asker.ask()).toMatchObject({ reason: "wrong answer" });
});

test("the addresses of a name take turns", async () => {
  const ports = await aBackend();
  const names = await startNameServer({ 4: ["127.0.0.1", "127.0.0.2"] });
  const asker = anAsker({ protocol: "tcp", port: ports.tcp, names });
  const outcomes = [await asker.ask(), await asker.ask(), await asker.ask()];
  expect(new Set(outcomes.map(({ address }) => address)).size).toBe(2);
  expect(outcomes.every((outcome) => "pod" in outcome)).toBe(true);
});

/** For what Node does to a connection right after an answer. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
