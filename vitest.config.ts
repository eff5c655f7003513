// Three projects: `fast` needs nothing but Node, `browser` needs chromium, `real` a real control plane (docs/testing.md).
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
