// DNS: what all sockets of one server share, and how a socket that cannot be opened is explained.

import { Problem } from "../api/problem.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Answerer } from "./answer.ts";
import type { Counters } from "./counters.ts";
import type { Forwarder } from "./forward.ts";
import type { Limiter } from "./limit.ts";

export interface Responder {
  readonly answerer: Answerer;
  readonly counters: Counters;
  /** Absent: no limit. */
  readonly limiter: Limiter | undefined;
  /** Absent: what is in none of our zones is refused. */
  readonly forwarder: Forwarder | undefined;
  readonly maxUdpSize: number;
  readonly clock: Clock;
  /** Says what should not happen, and not more often than a person can read. */
  readonly complain: (message: string, error: unknown) => void;
}

export interface Endpoint {
  /** An IP address; never a name: a DNS server cannot wait for one. */
  readonly host: string;
  readonly port: number;
}

/** "192.0.2.1:53", "[2001:db8::1]:53". */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

const COMPLAINTS_MAX = 20;
const FORGIVEN_AFTER_MS = 60_000;

/** A client that can make us fail can do so a million times: the log gets twenty lines a minute. */
export function createComplaint(log: Log, clock: Clock): Responder["complain"] {
  let said = 0;
  let sinceMs = clock.monotonic();
  return (message, error) => {
    const nowMs = clock.monotonic();
    if (nowMs - sinceMs > FORGIVEN_AFTER_MS) {
      sinceMs = nowMs;
      said = 0;
    }
    if (++said <= COMPLAINTS_MAX) log.error(message, { error });
  };
}

export function explainListenFailure(at: Endpoint, protocol: string, cause: unknown): Problem {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
  const where = formatEndpoint(at);
  if (code === "EADDRINUSE") {
    return new Problem("PortInUse", `${protocol} port ${at.port} of ${at.host} is taken`, {
      hint: `Find who has it with "ss -lnp sport = :${at.port}", or give another --listen.`,
      cause,
    });
  }
  if (code === "EACCES" || code === "EPERM") {
    return new Problem("PortForbidden", `this user may not listen on ${where} (${protocol})`, {
      hint: "Give the process the capability NET_BIND_SERVICE, or another --listen, such as 0.0.0.0:1053.",
      cause,
    });
  }
  const problem =
    code === "EADDRNOTAVAIL"
      ? `${at.host} is no address of this machine`
      : `nothing can listen on ${where} (${protocol}, ${code})`;
  const hint = "Give an address of this machine, or 0.0.0.0 or [::] for all of them.";
  return new Problem("ArgumentInvalid", problem, { hint, cause });
}
