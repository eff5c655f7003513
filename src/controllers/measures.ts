// What can be measured of one member: its queues, informers and caches in, plain numbers out. Read when somebody asks; nothing that
// a user writes into an object is handed on but ids of members and words of our own.

import type { ServiceExport } from "../api/mcs.ts";
import type { ClusterId } from "../api/names.ts";
import { CONFLICT_REASONS } from "../core/conflict.ts";
import type { QueueState } from "../core/health.ts";
import type { InformerSnapshot } from "../runtime/informer.ts";
import type { QueueSnapshot } from "../runtime/queue.ts";
import type { WriteCount } from "../runtime/writes.ts";
import type { PackedSlice } from "./packed.ts";

export const QUEUES = ["export", "report", "import"] as const;
export type QueueName = (typeof QUEUES)[number];

export interface Imported {
  readonly services: number;
  readonly ready: number;
  readonly unready: number;
}

export interface MemberMeasures {
  readonly cluster: ClusterId;
  readonly exports: number;
  readonly imports: number;
  readonly queues: Readonly<Record<QueueName, QueueSnapshot>>;
  readonly watches: readonly InformerSnapshot[];
  readonly writes: readonly WriteCount[];
  /** Exports in conflict, by what is in conflict. */
  readonly conflicts: ReadonlyMap<string, number>;
  /** What is imported of each source. */
  readonly sources: ReadonlyMap<string, Imported>;
}

/** For a person to read. */
export function nameQueues(
  cluster: ClusterId,
  queues: MemberMeasures["queues"],
): readonly QueueState[] {
  return QUEUES.map((name) => ({
    name: `The ${name} queue of cluster "${cluster}"`,
    ...queues[name],
  }));
}

/** For what is none of the words that we know. */
const OTHER = "other";

/** One export may be in several conflicts at once: its reason then names all of them. */
export function countConflicts(exports: readonly ServiceExport[]): ReadonlyMap<string, number> {
  const counts = new Map(CONFLICT_REASONS.map((reason) => [reason as string, 0]));
  for (const { status } of exports) {
    const conflict = status?.conditions?.find(({ type }) => type === "Conflict");
    if (conflict?.status !== "True") continue;
    const reasons = conflict.reason.split(",").map((one) => (counts.has(one) ? one : OTHER));
    for (const reason of new Set(reasons)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

/** Slices that somebody else labelled may name anything as their source: only members are told by their names. */
export function countSources(
  slices: readonly PackedSlice[],
  members: readonly ClusterId[],
): ReadonlyMap<string, Imported> {
  const known: ReadonlySet<string> = new Set(members);
  const found = new Map(
    members.map((member) => [member as string, { services: new Set<string>(), ready: 0, all: 0 }]),
  );
  for (const { importOf, imported } of slices) {
    if (importOf === undefined || imported === undefined) continue;
    const source = known.has(imported.source) ? imported.source : OTHER;
    const counts = found.get(source) ?? { services: new Set<string>(), ready: 0, all: 0 };
    counts.services.add(importOf);
    counts.ready += imported.ready;
    counts.all += imported.endpoints;
    found.set(source, counts);
  }
  return new Map(
    [...found].map(([source, { services, ready, all }]) => [
      source,
      { services: services.size, ready, unready: all - ready },
    ]),
  );
}
