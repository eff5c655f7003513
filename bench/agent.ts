// Bench: an agent in a process of its own, as in real life. It tells what it holds once it has nothing left to do.

import { setTimeout as pause } from "node:timers/promises";
import { NAMESPACE } from "../src/api/builtin.ts";
import { createLog } from "../src/cli/log.ts";
import { type Agent, startAgent } from "../src/controllers/agent.ts";
import { createPolicy } from "../src/core/policy.ts";
import { createKubernetesHub } from "../src/hub/kubernetes.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { REMEMBER_MS } from "../src/runtime/freshness.ts";
import { serveParent } from "./child.ts";
import { settledBytes } from "./measure.ts";
import { connect } from "./pair.ts";
import { IMPORTER } from "./shares.ts";

export interface AgentReport {
  /** Heap and buffers after a garbage collection. */
  readonly heldBytes: number;
  readonly rssBytes: number;
  /** Since the process started. */
  readonly peakRssBytes: number;
}

const POLL_MS = 200;
const TIMEOUT_MS = 900_000;

serveParent(
  async (access) => {
    const clients = access.map(connect);
    for (const client of clients) await client.get(NAMESPACE, { name: "default" });
    const [hubStore, store] = clients;
    if (hubStore === undefined || store === undefined) throw new Error("an agent needs a hub");
    const shared = {
      cluster: IMPORTER,
      clock: systemClock,
      random: systemRandom,
      log: createLog("error", (line) => process.stderr.write(`${line}\n`)),
    };
    const hub = createKubernetesHub({ ...shared, store: hubStore });
    return startAgent({ ...shared, store, hub, policy: createPolicy({}) });
  },
  async (agent, message): Promise<AgentReport> => {
    await settle(agent, Number(message));
    const heldBytes = await settledBytes();
    return {
      heldBytes,
      rssBytes: process.memoryUsage().rss,
      peakRssBytes: process.resourceUsage().maxRSS * 1_024,
    };
  },
);

/** So many services imported, and nothing to do for as long as our own writes are remembered. */
async function settle(agent: Agent, imports: number): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  let idleSinceMs: number | undefined;
  for (;;) {
    const isSettled = agent.isSynced() && agent.isIdle() && agent.measures()?.imports === imports;
    const nowMs = performance.now();
    idleSinceMs = isSettled ? (idleSinceMs ?? nowMs) : undefined;
    if (idleSinceMs !== undefined && nowMs - idleSinceMs > REMEMBER_MS) return;
    if (nowMs > deadlineMs) {
      throw new Error(
        `${agent.measures()?.imports ?? 0} of ${imports} services were imported in time`,
      );
    }
    await pause(POLL_MS);
  }
}
