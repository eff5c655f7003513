// The scenarios on embedded clusters: five of them, and one that knows IPv4 only.

import { EmbeddedCluster } from "../../src/embedded/cluster.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

const IDS = ["east", "edge", "north", "south", "west"] as const;

runScenarios(
  {
    name: "embedded servers",
    hasSingleStack: true,
    open: async () => {
      const stops: (() => void)[] = [];
      const startCluster = (id: string, serviceCidrs: readonly string[]) => {
        const cluster = new EmbeddedCluster({
          name: id,
          clock: systemClock,
          random: systemRandom,
          serviceCidrs,
        });
        stops.push(() => cluster.stop());
        return { id, serviceCidrs, store: cluster.store() };
      };
      return {
        clusters: IDS.map((id, index) =>
          startCluster(id, [`10.${101 + index}.0.0/16`, `fd00:${101 + index}::/112`]),
        ),
        singleStack: startCluster("zone", ["10.200.0.0/16"]),
        hasControllers: true,
        close: async () => {
          for (const stop of stops) stop();
        },
      };
    },
  },
  TOPICS,
);
