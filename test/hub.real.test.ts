// The hub contract on a real API server, one agent per cluster: the one that is right where it differs from the embedded.

import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { HUB_CRDS } from "../src/api/crds.ts";
import type { ClusterId } from "../src/api/names.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createKubernetesHub, type KubernetesHub } from "../src/hub/kubernetes.ts";
import { createClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import type { Log } from "../src/ports/log.ts";
import { runHubContract } from "./contract/hub.ts";
import { evictMember, registerMember } from "./hubMember.ts";
import { POD_RANGES } from "./hubWorld.ts";
import { eventually } from "./scenarios/poll.ts";
import { id } from "./shares.ts";

const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => QUIET,
};

runHubContract(async () => {
  const { kubeconfigPath } = inject("clusters")[0]!;
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
  const client = createClient(config, { clock: systemClock });
  await installCrds({ store: client, crds: HUB_CRDS, clock: systemClock });
  const run = randomBytes(3).toString("hex");
  const hubs: KubernetesHub[] = [];
  const members = new Set<ClusterId>();
  let count = 0;
  return {
    uniqueId: (name) => id(`${name}-${run}-${(count += 1)}`),
    join: async (cluster) => {
      members.add(cluster);
      await registerMember(client, cluster, POD_RANGES);
      const hub = createKubernetesHub({
        cluster,
        store: client,
        clock: systemClock,
        random: systemRandom,
        log: QUIET,
        forgetAfterMs: 1_000,
      });
      hubs.push(hub);
      await hub.whenSynced();
      return hub;
    },
    remove: (cluster) => evictMember(client, cluster),
    eventually,
    monotonic: () => systemClock.monotonic(),
    close: async () => {
      await Promise.all(hubs.map((hub) => hub.stop()));
      for (const cluster of members) await evictMember(client, cluster);
      await client.close();
    },
  };
});
