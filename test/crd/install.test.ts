import { describe } from "vitest";

import { EmbeddedCluster } from "../../src/embedded/cluster.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { runCrdSuite } from "./suite.ts";

describe("our CRDs on an embedded cluster", () => {
  runCrdSuite(async () => {
    const cluster = new EmbeddedCluster({ name: "crd", clock: systemClock, random: systemRandom });
    return { client: cluster.store(), close: async () => cluster.stop() };
  });
});
