// The scenarios on real servers, an agent for each and a real hub between them.

import { openRealFleet } from "./real.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

runScenarios(
  {
    name: "real servers",
    mode: "agents",
    hasSingleStack: false,
    open: () => openRealFleet("agents"),
  },
  TOPICS,
);
