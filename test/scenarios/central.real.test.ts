// The scenarios on real servers, kept in step by central.

import { openRealFleet } from "./real.ts";
import { runScenarios } from "./suite.ts";
import { TOPICS } from "./topics.ts";

runScenarios(
  {
    name: "real servers",
    mode: "central",
    hasSingleStack: false,
    open: () => openRealFleet("central"),
  },
  TOPICS,
);
