// The runner's closing line: what vitest counted in, one line on standard output, after the reasons of what was skipped.
// Never says "0 failed" of a red run.

import type { Reporter, SerializedError, TestModule } from "vitest/node";

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const NOTHING_RAN: Counts = { passed: 0, failed: 0, skipped: 0 };

class ClosingLineReporter implements Reporter {
  #counts = NOTHING_RAN;
  #ended = false;
  #skips: readonly string[] = [];

  onInit(): void {
    // On exit, because other reporters print their summary after onTestRunEnd, and because a global setup
    // that fails ends the run without ever calling it.
    process.once("exit", (code) => {
      const red = code !== 0 || !this.#ended;
      const failed = red ? Math.max(this.#counts.failed, 1) : this.#counts.failed;
      for (const skip of this.#skips) process.stdout.write(`skipped: ${skip}\n`);
      process.stdout.write(renderClosingLine({ ...this.#counts, failed }));
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.#ended = true;
    this.#counts = countTests(modules, unhandledErrors.length);
    this.#skips = explainSkips(modules);
  }
}

function renderClosingLine(counts: Counts): string {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`;
}

function countTests(modules: readonly TestModule[], unhandledErrors: number): Counts {
  let passed = 0;
  let failed = unhandledErrors;
  let skipped = 0;
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") passed += 1;
      else if (state === "failed") failed += 1;
      else skipped += 1;
    }
    // Errors of a file or of a suite's hooks belong to no test: its tests then count as skipped, so these must count.
    failed += module.errors().length;
    for (const suite of module.children.allSuites()) failed += suite.errors().length;
  }
  return { passed, failed, skipped };
}

/** A test that says why it cannot run here: the default reporter keeps that to itself. */
function explainSkips(modules: readonly TestModule[]): readonly string[] {
  return modules.flatMap((module) =>
    [...module.children.allTests("skipped")].flatMap((test) => {
      const result = test.result();
      return result.state === "skipped" && result.note ? `${test.fullName}: ${result.note}` : [];
    }),
  );
}

// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter by its default export
export default ClosingLineReporter;
