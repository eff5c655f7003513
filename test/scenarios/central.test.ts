// The scenarios on embedded clusters, kept in step by central.

import { openEmbeddedFleet } from "./embedded.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

runScenarios(
  {
    name: "embedded servers",
    mode: "central",
    hasSingleStack: true,
    open: () => openEmbeddedFleet("central"),
  },
  TOPICS,
);
