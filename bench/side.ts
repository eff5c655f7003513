// Bench: one of the two that are compared, as two processes: an agent for each cluster, ours or the floor's. They are
// connected before they are told to start.

import { setTimeout as pause } from "node:timers/promises";
import { type Child, startChild } from "./child.ts";
import { type Cluster, CLUSTERS, type Fleet } from "./fleet.ts";
import { compareRounds, type Row, type Unit } from "./table.ts";

/**
 * "start": whatever is exported is to be imported. "resume": all is imported already. "report": how much was done so far.
 * "reread": how long it takes to read all that there is; the floor alone is asked.
 */
export type SideTask = "start" | "resume" | "report" | "reread";

/** Of one process since it began, or of both together. */
export interface WorkReport {
  /** Heartbeats, which come with time and not with work, are not counted. */
  readonly writes: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  /** In step with the hub and the cluster, nothing waits. Always true of the floor, which does not know. */
  readonly isSettled: boolean;
}

export type SideName = "ours" | "floor";

/** What both did in one round. */
export type Round<F> = Readonly<Record<SideName, F>>;

export interface Side {
  tell(task: "start" | "resume"): Promise<void>;
  /** Of both processes together; the peak is the importing cluster's. */
  report(): Promise<WorkReport>;
  /** Its process ends, and another one is connected in its place. */
  replace(cluster: Cluster): Promise<Child>;
  /** The same promise, but it rejects when one of the processes dies first. */
  unlessDead<T>(work: Promise<T>): Promise<T>;
}

/** Whoever writes more than is needed mostly does so late. */
const AFTERMATH_MS = 2_000;

const PROGRAMS: Readonly<Record<SideName, string>> = { ours: "agent", floor: "floor" };

export async function withSide<T>(
  fleet: Fleet,
  name: SideName,
  work: (side: Side) => Promise<T>,
): Promise<T> {
  const children = new Map<Cluster, Child>();
  const start = async (cluster: Cluster): Promise<Child> => {
    const child = await startChild(PROGRAMS[name], fleet.access[cluster]);
    children.set(cluster, child);
    return child;
  };
  const child = (cluster: Cluster): Child => {
    const found = children.get(cluster);
    if (found === undefined) throw new Error(`cluster ${cluster} has no process`);
    return found;
  };
  try {
    for (const cluster of CLUSTERS) await start(cluster);
    return await work({
      async tell(task) {
        await Promise.all(CLUSTERS.map((cluster) => child(cluster).ask(task)));
      },
      async report() {
        const [a, b] = await Promise.all([child("a").ask("report"), child("b").ask("report")]);
        return addReports(a as WorkReport, b as WorkReport);
      },
      async replace(cluster) {
        await child(cluster).stop();
        return start(cluster);
      },
      unlessDead: (promise) => child("a").unlessDead(child("b").unlessDead(promise)),
    });
  } finally {
    await Promise.all([...children.values()].map((each) => each.stop()));
  }
}

function addReports(a: WorkReport, b: WorkReport): WorkReport {
  return {
    writes: a.writes + b.writes,
    cpuMs: a.cpuMs + b.cpuMs,
    peakRssBytes: b.peakRssBytes,
    isSettled: a.isSettled && b.isSettled,
  };
}

/** When there is nothing left to do. */
export async function reportRested(side: Side): Promise<WorkReport> {
  await pause(AFTERMATH_MS);
  return side.report();
}

/** Each goes first in turn: servers are slower or quicker with what they went through before. */
export async function takeTurns<F>(
  round: number,
  measure: (name: SideName) => Promise<F>,
): Promise<Round<F>> {
  const first = round % 2 === 0 ? await measure("ours") : undefined;
  const floor = await measure("floor");
  return { ours: first ?? (await measure("ours")), floor };
}

/** One figure of ours, beside the floor's or a fixed number. */
export function compareSides<F>(
  rounds: readonly Round<F>[],
  row: {
    readonly name: string;
    readonly unit: Unit;
    readonly of: (figures: F) => number;
    readonly goal?: number | undefined;
    /** Absent: the same figure of the floor. */
    readonly floor?: number | undefined;
  },
): Row {
  const { name, unit, of, goal } = row;
  return compareRounds(rounds, {
    name,
    unit,
    ours: ({ ours }) => of(ours),
    floor: ({ floor }) => row.floor ?? of(floor),
    ...(goal !== undefined && { goal }),
  });
}
