// Bench: an agent in a process of its own, as in real life. Connected beforehand, started when the bench says so; its writes
// are counted on their way to the API servers. Once it has nothing left to do it can tell what it holds.

import { setTimeout as pause } from "node:timers/promises";
import { LEASE, NAMESPACE } from "../src/api/builtin.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import type { ClusterId } from "../src/api/names.ts";
import { createLog } from "../src/cli/log.ts";
import { type Agent, startAgent } from "../src/controllers/agent.ts";
import { createPolicy } from "../src/core/policy.ts";
import { createKubernetesHub } from "../src/hub/kubernetes.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { REMEMBER_MS } from "../src/runtime/freshness.ts";
import { type CountedStore, countWrites, type WriteCount } from "../src/runtime/writes.ts";
import { peakRssBytes, processorMs, serveParent } from "./parent.ts";
import { connect } from "./access.ts";
import { settledBytes } from "./measure.ts";
import type { SideTask, WorkReport } from "./side.ts";

/** "held": so many services imported, and nothing left to do. */
export type AgentTask = SideTask | { readonly held: number };

export interface HeldReport {
  /** Heap and buffers after a garbage collection. */
  readonly heldBytes: number;
  readonly rssBytes: number;
  /** Since the process started. */
  readonly peakRssBytes: number;
}

const POLL_MS = 200;
const TIMEOUT_MS = 900_000;

let agent: Agent | undefined;

serveParent(
  async (access) => {
    const clients = access.map(connect);
    for (const client of clients) await client.get(NAMESPACE, { name: "default" });
    const [hub, store] = clients;
    if (hub === undefined || store === undefined) throw new Error("an agent needs a hub");
    const cluster = access[1]?.id as ClusterId;
    return { cluster, hub: countWrites(hub), store: countWrites(store) };
  },
  async (clients, message): Promise<WorkReport | HeldReport> => {
    const task = message as AgentTask;
    if (typeof task === "object") return reportHeld(task.held);
    if (task !== "report") agent = start(clients);
    return {
      writes: sumWork([...clients.hub.writes(), ...clients.store.writes()]),
      cpuMs: processorMs(),
      peakRssBytes: peakRssBytes(),
      isSettled: agent?.isSynced() === true && agent.isIdle(),
    };
  },
);

function start(clients: {
  readonly cluster: ClusterId;
  readonly hub: CountedStore;
  readonly store: CountedStore;
}): Agent {
  const shared = {
    cluster: clients.cluster,
    clock: systemClock,
    random: systemRandom,
    log: createLog("error", (line) => process.stderr.write(`${line}\n`)),
  };
  const hub = createKubernetesHub({ ...shared, store: clients.hub.store });
  return startAgent({ ...shared, store: clients.store.store, hub, policy: createPolicy({}) });
}

async function reportHeld(imports: number): Promise<HeldReport> {
  await settle(imports);
  const heldBytes = await settledBytes();
  return {
    heldBytes,
    rssBytes: process.memoryUsage().rss,
    peakRssBytes: peakRssBytes(),
  };
}

/** So many services imported, and nothing to do for as long as our own writes are remembered. */
async function settle(imports: number): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  let idleSinceMs: number | undefined;
  for (;;) {
    const isSettled =
      agent?.isSynced() === true && agent.isIdle() && agent.measures()?.imports === imports;
    const nowMs = performance.now();
    idleSinceMs = isSettled ? (idleSinceMs ?? nowMs) : undefined;
    if (idleSinceMs !== undefined && nowMs - idleSinceMs > REMEMBER_MS) return;
    if (nowMs > deadlineMs) {
      throw new Error(
        `${agent?.measures()?.imports ?? 0} of ${imports} services were imported in time`,
      );
    }
    await pause(POLL_MS);
  }
}

function sumWork(counts: readonly WriteCount[]): number {
  return counts.filter(isWork).reduce((sum, { count }) => sum + count, 0);
}

/** What an agent says of itself comes with time, or once: it is no work. */
function isWork({ kind }: WriteCount): boolean {
  return kind !== LEASE.kind && kind !== CLUSTER_MEMBER.kind;
}
