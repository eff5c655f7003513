// Faults of a schedule: chance in, one fault as data out. Pure.

import type { Random } from "../src/ports/clock.ts";
import { between, flip, pick, pickWeighted } from "./chance.ts";
import type { Fault, LinePlace } from "./fault.ts";
import type { Direction, Failure } from "./line.ts";

const WATCHED = ["services", "endpointslices", "serviceexports", "serviceimports", "namespaces"];
const WATCHED_ON_HUB = ["clustermembers", "serviceshares", "endpointshares", "leases"];
const LASTING_MS = [1_000, 5_000, 12_000, 25_000, 40_000, 90_000];
const DOWN_MS = [0, 50, 1_000, 10_000, 35_000, 90_000];
const JUMPS_MS = [-3_600_000, -60_000, -1_000, 1_000, 60_000, 3_600_000];
const WAYS: readonly (readonly Direction[])[] = [["requests"], ["answers"]];

interface Drawn {
  readonly random: Random;
  readonly place: LinePlace;
  readonly server: number | "hub";
  readonly forMs: number;
}

/** A region is cut off by its own profile only: together with other faults it is no longer plain who should be lost. */
const WEIGHTS: Readonly<Record<Exclude<Fault["fault"], "region">, number>> = {
  partition: 4,
  slow: 1,
  "late answers": 1,
  errors: 3,
  "late watch": 1.5,
  "doubled watch": 0.5,
  "cut watches": 1,
  compact: 1,
  "restart server": 1,
  crash: 3,
  clock: 1,
};

const DRAWS: Readonly<Record<keyof typeof WEIGHTS, (drawn: Drawn) => Fault>> = {
  partition: ({ random, place, forMs }) => ({
    fault: "partition",
    ...place,
    loses: flip(random, 0.6) ? WAYS.flat() : pick(random, WAYS),
    refuses: flip(random, 0.3),
    forMs,
  }),
  slow: ({ random, place, forMs }) => ({
    fault: "slow",
    ...place,
    delayMs: pick(random, [300, 2_000, 6_000]),
    forMs,
  }),
  "late answers": ({ random, place, forMs }) => ({
    fault: "late answers",
    ...place,
    ms: pick(random, [1_000, 4_000, 8_000]),
    forMs,
  }),
  errors: ({ random, place, forMs }) => ({
    fault: "errors",
    ...place,
    failure: drawFailure(random, place),
    forMs,
  }),
  "late watch": ({ random, place, forMs }) => ({
    fault: "late watch",
    ...place,
    ...(flip(random, 0.7)
      ? { plural: pick(random, place.to === "hub" ? WATCHED_ON_HUB : WATCHED) }
      : {}),
    ms: between(random, 200, 8_000),
    forMs,
  }),
  "doubled watch": ({ place, forMs }) => ({ fault: "doubled watch", ...place, share: 0.5, forMs }),
  "cut watches": ({ place }) => ({ fault: "cut watches", ...place }),
  compact: ({ random, server }) => ({ fault: "compact", server, cuts: flip(random, 0.8) }),
  "restart server": ({ random, server, forMs }) => ({
    fault: "restart server",
    server,
    forMs: forMs * (flip(random, 0.2) ? 3 : 1),
    compacts: flip(random, 0.5),
  }),
  crash: ({ random, place }) => ({
    fault: "crash",
    cluster: place.cluster,
    call: between(random, 1, 40),
    at: pick(random, ["before", "after"]),
    withinMs: between(random, 1, 20_000),
    downMs: pick(random, DOWN_MS),
  }),
  clock: ({ random, server }) => ({
    fault: "clock",
    cluster: server,
    jumpMs: pick(random, JUMPS_MS),
  }),
};

export function drawFault(random: Random, clusters: readonly number[]): Fault {
  const cluster = pick(random, clusters);
  const place: LinePlace = { cluster, to: flip(random, 0.6) ? "hub" : "own" };
  const server = flip(random, 0.5) ? ("hub" as const) : cluster;
  const forMs = pick(random, LASTING_MS);
  return DRAWS[pickWeighted(random, WEIGHTS)]({ random, place, server, forMs });
}

/** An agent dies. */
export function drawCrash(random: Random, clusters: readonly number[]): Fault {
  const place: LinePlace = { cluster: pick(random, clusters), to: "own" };
  return DRAWS.crash({ random, place, server: place.cluster, forMs: 0 });
}

/** One cluster falls silent, and nothing else happens: how soon it is withdrawn is plain to see. */
export function drawLoss(
  random: Random,
  cluster: number,
  atMs: number,
): readonly (Fault & { readonly atMs: number })[] {
  const at = pick(random, ["before", "after"] as const);
  const call = between(random, 1, 20);
  const crash: Fault = { fault: "crash", cluster, call, at, withinMs: 10_000, downMs: 120_000 };
  // Everybody reads everything anew: nobody comes back to life by that.
  const compact: Fault = { fault: "compact", server: "hub", cuts: true };
  const laterMs = atMs + between(random, 50_000, 55_000);
  return [{ atMs, ...crash }, ...(flip(random, 0.5) ? [{ atMs: laterMs, ...compact }] : [])];
}

/** Nothing that could stop one cluster's heartbeats alone. */
export function drawHubFault(random: Random, spared: number): Fault {
  const forMs = pick(random, LASTING_MS) * between(random, 1, 3);
  if (flip(random, 0.5)) return { fault: "region", spared, refuses: flip(random, 0.3), forMs };
  if (flip(random, 0.3)) return { fault: "compact", server: "hub", cuts: true };
  return { fault: "restart server", server: "hub", forMs, compacts: flip(random, 0.5) };
}

function drawFailure(random: Random, { to }: LinePlace): Failure {
  const status = pick(random, [500, 503, 429, 409, 504, 0] as const);
  const share = pick(random, [0.1, 0.5, 1]);
  const afterWrite = (status === 504 || status === 0 || status === 500) && flip(random, 0.6);
  const retryAfterSeconds = between(random, 1, 5);
  const plurals = to === "hub" ? WATCHED_ON_HUB : WATCHED;
  return {
    status,
    afterWrite,
    share,
    ...(status === 429 || status === 503 ? { retryAfterSeconds } : {}),
    // Where all else goes well, nothing but a retry makes up for it.
    ...(flip(random, 0.6) ? { plural: pick(random, plurals) } : {}),
  };
}
