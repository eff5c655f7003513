import { describe, inject } from "vitest";

import { createClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { runCrdSuite } from "./suite.ts";

describe("our CRDs on a real API server", () => {
  runCrdSuite(async () => {
    const [cluster] = inject("clusters");
    const config = loadKubeconfig({ paths: [cluster!.kubeconfigPath], env: {}, home: "/" });
    const client = createClient(config, { clock: systemClock });
    return { client, close: () => client.close() };
  });
});
