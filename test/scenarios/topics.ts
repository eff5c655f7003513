// Scenario suite: the table of contents.

import { changeScenarios } from "./changes.ts";
import { conflictScenarios } from "./conflicts.ts";
import { endpointScenarios } from "./endpoints.ts";
import { exportScenarios } from "./exports.ts";
import { handmadeScenarios } from "./handmade.ts";
import { hubScenarios } from "./hub.ts";
import { identityScenarios } from "./identity.ts";
import { namespaceScenarios } from "./namespaces.ts";
import { quietScenarios } from "./quiet.ts";
import { repairScenarios } from "./repair.ts";
import { restartScenarios } from "./restart.ts";
import { silenceScenarios } from "./silence.ts";
import type { Topic } from "./suite.ts";

export const TOPICS: Readonly<Record<string, Topic>> = {
  // First, because others can run while these wait for bounds to pass.
  silence: silenceScenarios,
  hub: hubScenarios,
  restarts: restartScenarios,
  exports: exportScenarios,
  changes: changeScenarios,
  conflicts: conflictScenarios,
  endpoints: endpointScenarios,
  namespaces: namespaceScenarios,
  repair: repairScenarios,
  "imports by hand": handmadeScenarios,
  identity: identityScenarios,
  quiet: quietScenarios,
};
