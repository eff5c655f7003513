// Data plane: a backend. Requests over TCP, UDP and HTTP in, who answered out. Asked to end, it drains: it goes on serving
// while others learn that it is going, tells keep-alive connections to close, and ends when the last one has.
//
//   serving ── drain ──▶ serving, HTTP says "close" ── drainMs, and nobody asks any more, or drainAtMostMs ──▶ no new connections
//                                                                        ended ◀── all closed, or lingerMs ──┘

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { encodeAnswer, MAX_BYTES, plainAddress } from "./answer.ts";
import type { FlowProtocol } from "./tally.ts";

export interface ServeOptions {
  readonly cluster: string;
  readonly pod: string;
  /** 0 for any free port. */
  readonly ports: Readonly<Record<FlowProtocol, number>>;
  readonly drainMs: number;
  /** How long it waits in all until nobody has asked for a while. Absent: it does not wait for that. */
  readonly drainAtMostMs?: number;
  /** Who has asked nothing for so long has gone elsewhere. */
  readonly quietMs: number;
  /** How long connections may take to end after that. */
  readonly lingerMs: number;
}

export interface Backend {
  /** As bound. */
  readonly ports: Readonly<Record<FlowProtocol, number>>;
  /** Resolves when all is closed. */
  drain(): Promise<void>;
}

/** An idle keep-alive connection is the client's to close: a server that does so races with the next request. */
const KEEP_ALIVE_MS = 120_000;
const LOOK_MS = 50;
/** The most it lets in; a caller has one of each. */
const MAX_CONNECTIONS = 1000;

export async function startBackend(options: ServeOptions): Promise<Backend> {
  const { cluster, pod, drainMs, drainAtMostMs = drainMs, quietMs, lingerMs } = options;
  const connections = new Set<Socket>();
  const servers: Server[] = [];
  let isDraining = false;
  let askedAtMs = -Infinity;

  function answer(from: string | undefined, nonce: string): string {
    askedAtMs = performance.now();
    return encodeAnswer({ cluster, pod, from: plainAddress(from), nonce });
  }

  function track(socket: Socket): void {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    // The client went away: nothing to say to nobody.
    socket.on("error", () => socket.destroy());
  }

  function serveLines(socket: Socket): void {
    track(socket);
    let read = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      read += chunk;
      if (read.length > MAX_BYTES) socket.destroy();
      const end = read.indexOf("\n");
      if (end < 0) return;
      const nonce = /^who (\S+)$/.exec(read.slice(0, end))?.[1];
      read = "";
      if (nonce === undefined) socket.destroy();
      else socket.end(answer(socket.remoteAddress, nonce));
    });
  }

  async function listen(server: Server, port: number): Promise<number> {
    server.maxConnections = MAX_CONNECTIONS;
    servers.push(server);
    server.listen({ port, host: "::", backlog: 511 });
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  const web = createHttpServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const nonce = new URL(request.url ?? "/", "http://backend").searchParams.get("nonce") ?? "";
    if (isDraining) response.setHeader("connection", "close");
    response.setHeader("content-type", "application/json");
    response.end(answer(request.socket.remoteAddress, nonce));
  });
  web.on("connection", track);
  const udp = createSocket("udp6");
  udp.on("message", (message, { address, port }) => {
    const nonce = /^who (\S+)$/.exec(message.toString("latin1"))?.[1];
    // Nobody to tell of an answer that could not be sent: the client counts it.
    if (nonce !== undefined) udp.send(answer(address, nonce), port, address, () => {});
  });
  const tcpPort = await listen(createServer(serveLines), options.ports.tcp);
  const httpPort = await listen(web, options.ports.http);
  udp.bind(options.ports.udp, "::");
  await once(udp, "listening");

  async function drain(): Promise<void> {
    isDraining = true;
    const endsAtMs = performance.now() + drainAtMostMs;
    await pause(drainMs);
    while (performance.now() < endsAtMs && performance.now() - askedAtMs < quietMs) {
      await pause(LOOK_MS);
    }
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
    udp.close();
    const linger = setTimeout(() => {
      for (const socket of connections) socket.destroy();
    }, lingerMs);
    await Promise.all(closed);
    clearTimeout(linger);
  }

  return { ports: { tcp: tcpPort, udp: udp.address().port, http: httpPort }, drain };
}
