// DNS over TCP (RFC 7766): connections in, answers in the order of the queries out, as many as a client asks on one connection. Every
// connection has a bounded time, a bounded buffer either way, and a place that it loses to a newer one when all are taken.
//
//   open ──length──▶ collecting ──whole query──▶ answered ──▶ (again)
//     │                  │                          │ answers are not read: no more is taken in until they are
//     └──────────────────┴───── ten seconds without a whole query, or with unread answers: cut

import { createServer, isIPv6, type Server, type Socket } from "node:net";
import type { Timer } from "../ports/clock.ts";
import type { Drop } from "./counters.ts";
import { rcodeOf } from "./header.ts";
import { type Endpoint, explainListenFailure, type Responder } from "./responder.ts";
import type { Listener } from "./udp.ts";
import { HEADER_BYTES, MESSAGE_MAX_BYTES } from "./wire.ts";

export interface TcpListener extends Listener {
  connections(): number;
}

export interface TcpLimits {
  readonly maxConnections: number;
  /** From one whole query to the next, and for reading an answer. */
  readonly idleMs: number;
}

/** A question has at most 271 bytes, its EDNS options some more; nothing that we answer is larger. */
const QUERY_MAX = 4_096;
/** Of one connection, with somebody else to be answered. */
const FORWARDED_MAX = 16;
const SWEEP_MS = 1_000;
/** What is being answered may be answered; nobody waits longer for the end of the process. */
const CLOSE_MS = 1_000;

interface Connection {
  readonly socket: Socket;
  /** Received, and not yet a whole query. */
  rest: Buffer;
  /** Cut when it passes. */
  deadlineMs: number;
  forwarding: number;
  /** The client asks no more; what it asked is still answered. */
  isEnding: boolean;
}

export async function listenTcp(
  responder: Responder,
  at: Endpoint,
  limits: TcpLimits,
): Promise<TcpListener> {
  const { clock, counters, complain } = responder;
  /** The one that was quiet for longest is the first. */
  const connections = new Map<Socket, Connection>();
  const talk = createTalk(responder);
  let sweep: Timer | undefined;
  let isClosing = false;

  function cut(connection: Connection, why: Drop): void {
    counters.dropped(why);
    connection.socket.destroy();
  }

  function sweepLater(): void {
    sweep ??= clock.schedule(SWEEP_MS, () => {
      sweep = undefined;
      const nowMs = clock.monotonic();
      for (const connection of connections.values()) {
        // In order of their deadlines, but for those that wait to be read.
        if (connection.deadlineMs > nowMs) continue;
        cut(connection, connection.socket.writableLength > 0 ? "tcp-unread" : "tcp-idle");
      }
      if (connections.size > 0) sweepLater();
    });
  }

  /** It asked something, or took what it was given: it may stay for another while. */
  function prolong(connection: Connection): void {
    if (connection.socket.destroyed) return;
    connection.deadlineMs = clock.monotonic() + limits.idleMs;
    connections.delete(connection.socket);
    connections.set(connection.socket, connection);
  }

  function accept(socket: Socket): void {
    if (isClosing) {
      socket.destroy();
      return;
    }
    if (connections.size >= limits.maxConnections) {
      // Turning the new one away would let whoever came first shut everybody else out.
      const [oldest] = connections.values();
      if (oldest !== undefined) {
        cut(oldest, "tcp-crowded");
        connections.delete(oldest.socket);
      }
    }
    const connection: Connection = {
      socket,
      rest: Buffer.alloc(0),
      deadlineMs: clock.monotonic() + limits.idleMs,
      forwarding: 0,
      isEnding: false,
    };
    connections.set(socket, connection);
    sweepLater();

    function proceed(): void {
      const outcome = talk(connection, proceed);
      if (outcome === "answered") prolong(connection);
      else if (outcome !== "waiting") cut(connection, outcome);
    }
    function guarded(work: () => void): void {
      try {
        work();
      } catch (error) {
        complain("query could not be answered", error);
        cut(connection, "failure");
      }
    }
    socket.on("data", (chunk) => {
      guarded(() => {
        connection.rest =
          connection.rest.length === 0 ? chunk : Buffer.concat([connection.rest, chunk]);
        proceed();
      });
    });
    socket.on("drain", () => {
      guarded(() => {
        prolong(connection);
        proceed();
      });
    });
    socket.on("end", () => {
      connection.isEnding = true;
      guarded(proceed);
    });
    socket.on("error", () => counters.dropped("tcp-reset"));
    socket.on("close", () => connections.delete(socket));
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  const bound = await listen(server, at);
  server.on("error", (error) => complain("connections cannot be accepted", error));
  return {
    at: bound,
    connections: () => connections.size,
    async close() {
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const { socket } of connections.values()) socket.end();
      const timer = clock.schedule(CLOSE_MS, () => {
        for (const { socket } of connections.values()) socket.destroy();
      });
      await closed;
      timer.cancel();
      sweep?.cancel();
    },
  };
}

function listen(server: Server, at: Endpoint): Promise<Endpoint> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(explainListenFailure(at, "TCP", error));
    server.once("error", onError);
    server.listen({ port: at.port, host: at.host, ipv6Only: isIPv6(at.host) }, () => {
      server.off("error", onError);
      const address = server.address();
      const port = address !== null && typeof address === "object" ? address.port : at.port;
      resolve({ host: at.host, port });
    });
  });
}

type Outcome = "answered" | "waiting" | "tcp-length" | "no-query";
type Talk = (connection: Connection, again: () => void) => Outcome;

/** Answers what is whole, as far as the client reads. */
function createTalk({ answerer, counters, forwarder }: Responder): Talk {
  /** Room for the length in front. */
  const scratch = Buffer.allocUnsafe(2 + MESSAGE_MAX_BYTES);
  const body = scratch.subarray(2);

  function send({ socket }: Connection, message: Uint8Array): void {
    const framed = Buffer.allocUnsafe(2 + message.length);
    framed.writeUInt16BE(message.length, 0);
    framed.set(message, 2);
    socket.write(framed);
  }

  function forward(connection: Connection, query: Buffer, again: () => void): void {
    const type = answerer.lastType;
    connection.forwarding++;
    forwarder?.forward(query, true, (answer) => {
      connection.forwarding--;
      if (connection.socket.destroyed) return;
      counters.answered(-1, type, rcodeOf(answer));
      send(connection, answer);
      again();
    });
  }

  /** False: nothing that may be answered. */
  function answerOne(connection: Connection, query: Buffer, again: () => void): boolean {
    counters.received("tcp");
    const length = answerer.answer(query, query.length, body, true);
    if (length === 0) return false;
    if (length < 0) forward(connection, query, again);
    else {
      counters.answered(answerer.lastZone, answerer.lastType, answerer.lastRcode);
      send(connection, body.subarray(0, length));
    }
    return true;
  }

  return (connection, again) => {
    const { socket } = connection;
    let outcome: Outcome = "waiting";
    let at = 0;
    const { rest } = connection;
    socket.cork();
    while (rest.length - at >= 2) {
      if (isFull(connection)) break;
      const length = rest.readUInt16BE(at);
      if (length < HEADER_BYTES || length > QUERY_MAX) {
        outcome = "tcp-length";
        break;
      }
      if (rest.length - at < 2 + length) break;
      const query = rest.subarray(at + 2, at + 2 + length);
      at += 2 + length;
      if (!answerOne(connection, query, again)) {
        outcome = "no-query";
        break;
      }
      outcome = "answered";
    }
    // A copy: a part would keep the whole chunk that it came in.
    connection.rest = at === 0 ? rest : Buffer.from(rest.subarray(at));
    socket.uncork();
    if (outcome === "answered" || outcome === "waiting") settleReading(connection);
    return outcome;
  };
}

/** The client does not read what it asked for (then "drain" tells when it has), or waits for others (then each tells). */
function isFull({ socket, forwarding }: Connection): boolean {
  return socket.writableNeedDrain || forwarding >= FORWARDED_MAX;
}

/** Takes nothing in meanwhile; ends when all that was asked is answered. */
function settleReading(connection: Connection): void {
  const { socket, rest, forwarding, isEnding } = connection;
  if (isFull(connection)) socket.pause();
  else if (socket.isPaused()) socket.resume();
  const isWhole = rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0);
  if (isEnding && forwarding === 0 && !isWhole) socket.end();
}
