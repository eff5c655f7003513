// The scenarios on embedded clusters, an agent in each and a hub between them.

import { openEmbeddedFleet } from "./embedded.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

runScenarios(
  {
    name: "embedded servers",
    mode: "agents",
    hasSingleStack: true,
    open: () => openEmbeddedFleet("agents"),
  },
  TOPICS,
);
