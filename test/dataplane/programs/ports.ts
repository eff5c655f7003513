// Data plane, pure: the ports of the programs, and the orders of a backend and a caller as their environment tells them.

import type { BackendOptions } from "./serve.ts";
import type { Family, FlowProtocol } from "./tally.ts";

export const PORTS: Readonly<Record<FlowProtocol, number>> = { tcp: 7000, udp: 7001, http: 8080 };
/** Where the programs say that they are ready; a caller tells its counts there. */
export const READY_PORT = 9900;

const PROTOCOLS = ["tcp", "udp", "http"] as const;
const DRAIN_MS = 4000;
const LINGER_MS = 2000;

export type Environment = Readonly<Record<string, string | undefined>>;

/** `PORTS`: which of "tcp,udp,http" listen; all when absent. `DRAIN_MS`: 4000 when absent. */
export function readBackendOptions(environment: Environment): BackendOptions {
  const wanted = environment["PORTS"]?.split(",") ?? PROTOCOLS;
  const unknown = wanted.find((name) => !PROTOCOLS.some((protocol) => protocol === name));
  if (unknown !== undefined) {
    throw new Error(`PORTS names ${JSON.stringify(unknown)}; it takes some of tcp,udp,http.`);
  }
  const drainMs = Number(environment["DRAIN_MS"] ?? DRAIN_MS);
  if (!Number.isSafeInteger(drainMs) || drainMs < 0) {
    throw new Error("DRAIN_MS has to be a number of milliseconds.");
  }
  return {
    cluster: environment["NODE_NAME"] ?? "unknown",
    pod: environment["POD_NAME"] ?? "unknown",
    ports: Object.fromEntries(
      PROTOCOLS.filter((protocol) => wanted.includes(protocol)).map((name) => [name, PORTS[name]]),
    ),
    drainMs,
    lingerMs: LINGER_MS,
  };
}

/** What a caller is to do, as JSON in `CALLER`. */
export interface CallerOrders {
  readonly target: string;
  readonly ports: Readonly<Record<FlowProtocol, number>>;
  readonly protocols: readonly FlowProtocol[];
  readonly families: readonly Family[];
  /** Name servers, by the family that the question travels over. */
  readonly dns: Readonly<Record<Family, string>>;
  readonly everyMs: number;
  readonly timeoutMs: number;
}

export function readCallerOrders(environment: Environment): CallerOrders {
  const text = environment["CALLER"];
  if (text === undefined) throw new Error("CALLER has to hold a caller's orders as JSON.");
  return JSON.parse(text) as CallerOrders;
}
