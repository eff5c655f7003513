// Three projects: `fast` needs nothing but Node, `browser` needs chromium, `real` a real control plane (docs/testing.md).
// The data-plane tests have a configuration of their own.

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    reporters: ["default", "./tools/reporter.ts"],
    // By itself it leaves one core alone, which of two is half: most tests wait for something most of the time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        test: {
          name: "fast",
          include: [
            "src/**/*.test.ts",
            "sim/**/*.test.ts",
            "tools/**/*.test.ts",
            "bench/**/*.test.ts",
            "test/**/*.test.ts",
          ],
          exclude: ["test/**/*.{real,browser,dataplane}.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/*.browser.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          globalSetup: ["test/controlplane/setup.ts"],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
