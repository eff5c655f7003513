// Scenario suite: the table of contents.

import { conflictScenarios } from "./conflicts.ts";
import { endpointScenarios } from "./endpoints.ts";
import { exportScenarios } from "./exports.ts";
import { namespaceScenarios } from "./namespaces.ts";
import { repairScenarios } from "./repair.ts";
import type { Topic } from "./suite.ts";

export const TOPICS: Readonly<Record<string, Topic>> = {
  exports: exportScenarios,
  conflicts: conflictScenarios,
  endpoints: endpointScenarios,
  namespaces: namespaceScenarios,
  repair: repairScenarios,
};
