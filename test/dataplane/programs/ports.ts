// Data plane, pure: the ports of the programs, and the orders of a backend and a caller as their environment tells them.

import type { ServeOptions } from "./serve.ts";
import type { Family, FlowProtocol } from "./tally.ts";

export const PORTS: Readonly<Record<FlowProtocol, number>> = { tcp: 7000, udp: 7001, http: 8080 };
/** Where the programs say that they are ready; a caller tells its counts there. */
export const READY_PORT = 9900;

/** How long a caller waits for a whole request, with the question for its name, and of that for a connection. */
export const PATIENCE = { timeoutMs: 5_000, connectMs: 2_000 };

const DRAIN_MS = 4000;
/** Callers ask several times a second, and all the same not for as long as they wait. */
const QUIET_MS = PATIENCE.timeoutMs + 2_000;
const LINGER_MS = 2000;

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a backend is to do. */
export interface BackendOrders extends ServeOptions {
  /** It says that it is ready until it ends, also while it drains. */
  readonly staysReady: boolean;
}

/** `DRAIN_MS`: 4000 when absent. `DRAIN_AT_MOST_MS`: the same when absent. `STAYS_READY`: "true" or not. */
export function readBackendOrders(environment: Environment): BackendOrders {
  const drainMs = readMs(environment, "DRAIN_MS", DRAIN_MS);
  return {
    cluster: environment["NODE_NAME"] ?? "unknown",
    pod: environment["POD_NAME"] ?? "unknown",
    ports: PORTS,
    drainMs,
    drainAtMostMs: readMs(environment, "DRAIN_AT_MOST_MS", drainMs),
    quietMs: QUIET_MS,
    lingerMs: LINGER_MS,
    staysReady: environment["STAYS_READY"] === "true",
  };
}

function readMs(environment: Environment, name: string, otherwise: number): number {
  const ms = Number(environment[name] ?? otherwise);
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new Error(`${name} has to be a number of milliseconds.`);
}

/** What a caller is to do, as JSON in `CALLER`. */
export interface CallerOrders {
  readonly target: string;
  readonly ports: Readonly<Record<FlowProtocol, number>>;
  readonly protocols: readonly FlowProtocol[];
  /** Name servers, by the family that the question travels over. */
  readonly dns: Readonly<Record<Family, string>>;
  readonly everyMs: number;
}

export function readCallerOrders(environment: Environment): CallerOrders {
  const text = environment["CALLER"];
  if (text === undefined) throw new Error("CALLER has to hold a caller's orders as JSON.");
  return JSON.parse(text) as CallerOrders;
}
