// Two projects: `fast` needs nothing but Node, `real` a real control plane (docs/testing.md).
// The data-plane tests have a configuration of their own.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    reporters: ["default", "./tools/reporter.ts"],
    projects: [
      {
        test: {
          name: "fast",
          include: [
            "src/**/*.test.ts",
            "sim/**/*.test.ts",
            "tools/**/*.test.ts",
            "test/**/*.test.ts",
          ],
          exclude: ["test/**/*.real.test.ts", "test/**/*.dataplane.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          globalSetup: ["test/controlplane/setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
