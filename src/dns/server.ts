// DNS: one server: rendered changes in, answers on its sockets out. The same whether it shares a process with the reader or not.

import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { createAnswerer } from "./answer.ts";
import { createCounters } from "./counters.ts";
import { createForwarder } from "./forward.ts";
import { createLimiter } from "./limit.ts";
import { createComplaint, type Endpoint, type Responder } from "./responder.ts";
import { type Change, createTable } from "./table.ts";
import { listenTcp, type TcpListener } from "./tcp.ts";
import { type Listener, listenUdp } from "./udp.ts";

/** Plain data: it is sent to other processes. */
export interface ServerConfig {
  readonly zones: readonly string[];
  readonly ttlSeconds: number;
  /** Before the first change. */
  readonly serial: number;
  /** By chance: for hash tables that a client should not be able to foresee. */
  readonly seed: number;
  readonly listen: readonly Endpoint[];
  readonly maxUdpSize: number;
  readonly order: "rotate" | "stable";
  /** Empty: what is in none of our zones is refused. */
  readonly forward: readonly Endpoint[];
  /** For each network of clients; 0: no limit. */
  readonly answersPerSecond: number;
  readonly maxTcpConnections: number;
  readonly tcpIdleMs: number;
}

/** What a server has done and what it holds, as plain data. */
export interface Report {
  /** See counters.ts. */
  readonly totals: Float64Array;
  readonly serial: number;
  readonly names: number;
  readonly tcpConnections: number;
  readonly forwarding: number;
  readonly isSynced: boolean;
}

export interface DnsServer {
  /** Binds every address, UDP and TCP; rejects with a Problem when one cannot be had. Answers where, once it is known. */
  open(): Promise<readonly Endpoint[]>;
  replace(change: Change): void;
  markSynced(): void;
  report(): Report;
  close(): Promise<void>;
}

export function createDnsServer(
  config: ServerConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): DnsServer {
  const { zones, ttlSeconds, serial, seed, maxUdpSize, answersPerSecond } = config;
  const table = createTable(zones, { ttlSeconds, serial, hashSeed: seed });
  const counters = createCounters(zones.length);
  const forwards = config.forward.length > 0;
  const forwarder = forwards
    ? createForwarder({ servers: config.forward, maxUdpSize, counters, clock })
    : undefined;
  const responder: Responder = {
    answerer: createAnswerer(table, { maxUdpSize, order: config.order, forwards }),
    counters,
    limiter:
      answersPerSecond > 0
        ? createLimiter({ perSecond: answersPerSecond, clock, seed })
        : undefined,
    forwarder,
    maxUdpSize,
    clock,
    complain: createComplaint(log, clock),
  };
  const limits = { maxConnections: config.maxTcpConnections, idleMs: config.tcpIdleMs };
  const udp: Listener[] = [];
  const tcp: TcpListener[] = [];

  async function openBoth(at: Endpoint): Promise<Endpoint> {
    for (let tries = 1; ; tries++) {
      const datagrams = await listenUdp(responder, at);
      try {
        tcp.push(await listenTcp(responder, datagrams.at, limits));
        udp.push(datagrams);
        return datagrams.at;
      } catch (error) {
        await datagrams.close();
        // A port that was free for UDP need not be for TCP; when any will do, there is another.
        if (at.port !== 0 || tries === PAIR_TRIES || !(error instanceof Problem)) throw error;
      }
    }
  }

  async function close(): Promise<void> {
    forwarder?.close();
    const listeners = [...udp.splice(0), ...tcp.splice(0)];
    await Promise.all(listeners.map((listener) => listener.close()));
  }

  return {
    async open() {
      try {
        const bound: Endpoint[] = [];
        for (const at of config.listen) bound.push(await openBoth(at));
        return bound;
      } catch (error) {
        await close();
        throw error;
      }
    },
    replace: (change) => table.replace(change),
    markSynced: () => table.markSynced(),
    report: () => ({
      totals: counters.values.slice(),
      serial: table.serial,
      names: table.size,
      tcpConnections: tcp.reduce((sum, listener) => sum + listener.connections(), 0),
      forwarding: forwarder?.inFlight() ?? 0,
      isSynced: table.isSynced,
    }),
    close,
  };
}

const PAIR_TRIES = 20;
