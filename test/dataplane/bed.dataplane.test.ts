// The bed itself, before anybody relies on it.

import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startFabric } from "./fabric.ts";
import { planCluster } from "./plan.ts";

test("there is a network, and it is not the machine's", async () => {
  const fabric = await startFabric((["hub", "east", "west", "edge"] as const).map(planCluster));
  onTestFinished(() => fabric.stop());
  expect(createServer).toBeDefined();
});
