// DNS: queries for what is in none of our zones in, the answers of other servers out. Each query goes out from a port of its own with
// an id of its own, both drawn by chance, and an answer counts only when server, port, id and question are right: an answer that
// somebody else makes up does not reach a client.
//
//   UDP ──answer──▶ done            (cut short, and the client uses TCP ─▶ TCP to the same server)
//    │ silent, SERVFAIL, REFUSED, not there
//    ▼
//   the next server, then the first again ──▶ SERVFAIL when the time is up

import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Counters } from "./counters.ts";
import {
  cutToQuestion,
  idOf,
  isResponseTo,
  isTruncated,
  questionEnd,
  rcodeOf,
  renderServfail,
  setId,
} from "./header.ts";
import type { Endpoint } from "./responder.ts";
import { MESSAGE_MAX_BYTES, OPT_BYTES, RCODE, TYPE, UDP_MIN_BYTES } from "./wire.ts";

export interface Forwarder {
  /** Calls back once, later, with the bytes to send: SERVFAIL when nobody answers. Never with more than the client takes. */
  forward(query: Uint8Array, isTcp: boolean, done: (answer: Buffer) => void): void;
  inFlight(): number;
  /** No call back after this. */
  close(): void;
}

/** Queries that wait for somebody else: each has a socket. Beyond it a client learns at once that there is no answer. */
export const IN_FLIGHT_MAX = 512;
const TRY_MS = 1_500;
/** Resolvers give up after five seconds, mostly. */
const ALL_TRIES_MS = 4_500;
/** A server that refuses does so at once: time alone is no bound. */
const TRIES_MAX = 6;

export function createForwarder(options: {
  readonly servers: readonly Endpoint[];
  readonly maxUdpSize: number;
  readonly counters: Counters;
  readonly clock: Clock;
}): Forwarder {
  const { servers, counters, clock } = options;
  const underWay = new Set<() => void>();
  let isOpen = true;

  return {
    forward(original, isTcp, done) {
      if (underWay.size >= IN_FLIGHT_MAX) {
        counters.forwarded("crowded");
        queueMicrotask(() => done(renderServfail(original)));
        return;
      }
      const clientId = idOf(original);
      const query = Buffer.from(original);
      const limit = isTcp ? MESSAGE_MAX_BYTES : udpLimit(query, options.maxUdpSize);
      const startMs = clock.monotonic();
      /** What a server said that could not or would not answer: better than nothing. */
      let refusal: Buffer | undefined;
      let cancel: () => void = () => undefined;
      const abandon = (): void => cancel();
      underWay.add(abandon);

      function finish(answer: Buffer | undefined): void {
        underWay.delete(abandon);
        if (!isOpen) return;
        counters.forwarded(answer === undefined ? "failed" : "answered");
        if (answer === undefined) {
          done(renderServfail(original));
          return;
        }
        setId(answer, clientId);
        done(
          answer.length > limit ? answer.subarray(0, cutToQuestion(answer, answer.length)) : answer,
        );
      }

      function attempt(count: number): void {
        const isOver = count >= TRIES_MAX || clock.monotonic() - startMs >= ALL_TRIES_MS;
        const server = isOver ? undefined : servers[count % servers.length];
        if (server === undefined) {
          finish(refusal);
          return;
        }
        const next = (): void => attempt(count + 1);
        setId(query, randomInt(0x1_0000));
        cancel = exchangeUdp({ server, query, clock }, (answer) => {
          if (answer === undefined) next();
          else if (isRefusal(answer) && count + 1 < servers.length) {
            refusal = answer;
            next();
          } else if (isTcp && isTruncated(answer)) {
            cancel = exchangeTcp({ server, query, clock }, (whole) => {
              if (whole === undefined) next();
              else finish(whole);
            });
          } else finish(answer);
        });
      }
      attempt(0);
    },
    inFlight: () => underWay.size,
    close() {
      isOpen = false;
      for (const abandon of underWay) abandon();
      underWay.clear();
    },
  };
}

interface Exchange {
  readonly server: Endpoint;
  readonly query: Buffer;
  readonly clock: Clock;
}

/** Calls back once, with nothing when there is no answer in time; never after it was cancelled, which is what it returns. */
function exchangeUdp({ server, query, clock }: Exchange, done: Done): () => void {
  const socket = createSocket(isIPv6(server.host) ? "udp6" : "udp4");
  const once = settleOnce(clock, done, () => socket.close());
  // What is not an answer to this is not for us; the right one may still come.
  socket.on("message", (bytes) => {
    if (idOf(bytes) === idOf(query) && isResponseTo(bytes, query)) once.settle(bytes);
  });
  socket.on("error", () => once.settle(undefined));
  // Connected: the kernel lets nothing through but what comes from this address and port. A callback of `connect` would be given its
  // failure too, such as no route there, in place of "error".
  socket.on("connect", () => {
    if (!once.isSettled()) socket.send(query, () => undefined);
  });
  socket.connect(server.port, server.host);
  return once.cancel;
}

function exchangeTcp({ server, query, clock }: Exchange, done: Done): () => void {
  const socket = connect({ host: server.host, port: server.port, noDelay: true });
  const once = settleOnce(clock, done, () => socket.destroy());
  let received = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 2) return;
    const length = received.readUInt16BE(0);
    if (received.length < 2 + length) return;
    const bytes = received.subarray(2, 2 + length);
    const isRight = idOf(bytes) === idOf(query) && isResponseTo(bytes, query);
    once.settle(isRight ? bytes : undefined);
  });
  socket.on("error", () => once.settle(undefined));
  socket.on("close", () => once.settle(undefined));
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(query.length);
  socket.write(Buffer.concat([prefix, query]));
  return once.cancel;
}

type Done = (answer: Buffer | undefined) => void;

function settleOnce(
  clock: Clock,
  done: Done,
  release: () => void,
): { settle: Done; cancel: () => void; isSettled: () => boolean } {
  let isSettled = false;
  const timer: Timer = clock.schedule(TRY_MS, () => settle(undefined));
  function end(): boolean {
    if (isSettled) return false;
    isSettled = true;
    timer.cancel();
    release();
    return true;
  }
  function settle(answer: Buffer | undefined): void {
    if (end()) done(answer);
  }
  return { settle, cancel: () => void end(), isSettled: () => isSettled };
}

function isRefusal(answer: Buffer): boolean {
  const rcode = rcodeOf(answer);
  return rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED;
}

/** What the client takes over UDP: 512 bytes, or what its OPT record says, and never more than we send. */
function udpLimit(query: Buffer, most: number): number {
  const end = questionEnd(query, query.length);
  const hasOpt =
    end > 0 &&
    query.length >= end + OPT_BYTES &&
    query.readUInt16BE(10) > 0 &&
    query[end] === 0 &&
    query.readUInt16BE(end + 1) === TYPE.OPT;
  const asked = hasOpt ? query.readUInt16BE(end + 3) : UDP_MIN_BYTES;
  return Math.min(Math.max(UDP_MIN_BYTES, asked), most);
}
