// Scenario suite: embedded clusters to tell scenarios in: five, and one that knows IPv4 only.

import { HUB_CRDS } from "../../src/api/crds.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { EmbeddedCluster } from "../../src/embedded/cluster.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import type { Fleet } from "./fleet.ts";
import type { Mode } from "./suite.ts";

const IDS = ["east", "edge", "north", "south", "west"] as const;

export async function openEmbeddedFleet(mode: Mode): Promise<Fleet> {
  const stops: (() => void)[] = [];
  const start = (name: string, serviceCidrs: readonly string[]): EmbeddedCluster => {
    const clock = systemClock;
    const cluster = new EmbeddedCluster({ name, clock, random: systemRandom, serviceCidrs });
    stops.push(() => cluster.stop());
    return cluster;
  };
  const startMember = (id: string, serviceCidrs: readonly string[]) => ({
    id,
    serviceCidrs,
    store: start(id, serviceCidrs).store(),
  });
  return {
    clusters: IDS.map((id, index) =>
      startMember(id, [`10.${201 + index}.0.0/16`, `fd00:${201 + index}::/112`]),
    ),
    singleStack: startMember("zone", ["10.220.0.0/16"]),
    hasControllers: true,
    ...(mode === "agents" && {
      openHub: async () => {
        const hub = start("hub", ["10.230.0.0/16"]);
        await installCrds({ store: hub.store(), crds: HUB_CRDS, clock: systemClock });
        return { store: hub.store(), close: async () => hub.stop() };
      },
    }),
    close: async () => {
      for (const stop of stops) stop();
    },
  };
}
