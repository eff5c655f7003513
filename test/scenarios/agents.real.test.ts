// The scenarios on real servers, an agent for each and a real hub between them. Each agent may do in its cluster what the chart lets it,
// and nothing else.

import { expect, test } from "vitest";
import { permissionsOf, readChartRules, requireRole } from "../rbac/access.ts";
import { type Confined, confineAgents } from "../rbac/confined.ts";
import { openRealFleet } from "./real.ts";
import { prepareFleet } from "./fleet.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

const RULES = [
  ...readChartRules("ClusterRole"),
  // For --namespaces create; the chart's tests see that it adds just that.
  ...requireRole("isthmus-central-namespaces").rules,
];
let confined: Confined;

runScenarios(
  {
    name: "real servers",
    mode: "agents",
    hasSingleStack: false,
    async open() {
      const fleet = await prepareFleet(await openRealFleet("agents"));
      confined = await confineAgents(fleet, RULES);
      return confined.fleet;
    },
  },
  TOPICS,
);

test("R70: through all of that no agent was refused anything by its role, or left a verb of it unused", () => {
  const { used, refusals } = confined.account();
  expect(refusals).toEqual([]);
  expect(used).toEqual(permissionsOf({ rules: RULES }));
});
