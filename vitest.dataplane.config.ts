// The data-plane tests, a run of their own: only `npm run test:dataplane` can give them the namespaces that they need.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "dataplane",
    globalSetup: ["test/dataplane/printer.ts"],
    include: ["test/dataplane/**/*.dataplane.test.ts"],
    reporters: ["default", "./tools/reporter.ts"],
    // One network and two cores for all of them.
    fileParallelism: false,
    // Stories that break nothing are told all at once.
    maxConcurrency: 16,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
