// Bench: one of the two that are compared, as two processes: an agent for each cluster, ours or the floor's. They are
// connected before they are told to start.

import { type Child, startChild } from "./child.ts";
import { type Cluster, CLUSTERS, type Fleet } from "./fleet.ts";

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

export interface Side {
  tell(task: "start" | "resume"): Promise<void>;
  /** Of both processes together; the peak is the importing cluster's. */
  report(): Promise<WorkReport>;
  child(cluster: Cluster): Child;
  /** Its process ends, and another one is connected in its place. */
  replace(cluster: Cluster): Promise<Child>;
  /** The same promise, but it rejects when one of the processes dies first. */
  unlessDead<T>(work: Promise<T>): Promise<T>;
}

const FILES: Readonly<Record<SideName, string>> = { ours: "./agent.ts", floor: "./floor.ts" };

export async function withSide<T>(
  fleet: Fleet,
  name: SideName,
  work: (side: Side) => Promise<T>,
): Promise<T> {
  const children = new Map<Cluster, Child>();
  const start = async (cluster: Cluster): Promise<Child> => {
    const child = await startChild(FILES[name], fleet.access[cluster]);
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
      child,
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
