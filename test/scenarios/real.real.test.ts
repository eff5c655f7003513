// The scenarios on real API servers: the ones that are right where the two differ.

import { inject } from "vitest";
import { createClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

runScenarios(
  {
    name: "real servers",
    hasSingleStack: false,
    open: async () => {
      const shared = inject("clusters");
      const clusters = shared
        .map(({ name, kubeconfigPath, serviceCidrs }) => {
          const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
          return { id: name, serviceCidrs, store: createClient(config, { clock: systemClock }) };
        })
        .toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return {
        clusters,
        hasControllers: shared.every(({ hasControllerManager }) => hasControllerManager),
        close: async () => {
          await Promise.all(clusters.map(({ store }) => store.close()));
        },
      };
    },
  },
  TOPICS,
);
