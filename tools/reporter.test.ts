// The closing line, as a real run of vitest over small made-up suites prints it.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const VITEST = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const REPORTER = fileURLToPath(new URL("reporter.ts", import.meta.url));

async function runVitest(
  files: Readonly<Record<string, string>>,
): Promise<{ code: number | null; lastLine: string | undefined }> {
  const { code, lines } = await readVitest(files);
  return { code, lastLine: lines.at(-1) };
}

async function readVitest(
  files: Readonly<Record<string, string>>,
): Promise<{ code: number | null; lines: readonly string[] }> {
  const root = await mkdtemp(join(tmpdir(), "isthmus-reporter-"));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
    const child = spawn(
      process.execPath,
      [VITEST, "run", "--root", root, "--globals", "--reporter=default", `--reporter=${REPORTER}`],
      { cwd: root, stdio: ["ignore", "pipe", "ignore"] },
    );
    let output = "";
    child.stdout.on("data", (data) => {
      output += String(data);
    });
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    return { code, lines: output.trimEnd().split("\n") };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

test("a run with passed and skipped tests closes with their counts", async () => {
  const run = await runVitest({
    "a.test.ts": `test("a", () => {}); test("b", () => {}); test.skip("c", () => {});`,
    "b.test.ts": `describe("d", () => { test("e", () => {}); });`,
  });
  expect(run).toEqual({ code: 0, lastLine: "3 passed, 0 failed, 1 skipped" });
});

test("a test that says why it cannot run is named with its reason before the closing line", async () => {
  const { lines } = await readVitest({
    "a.test.ts": `describe("d", () => { test("a", (context) => context.skip("no go command")); });`,
  });
  expect(lines.slice(-2)).toEqual([
    "skipped: d > a: no go command",
    "0 passed, 0 failed, 1 skipped",
  ]);
});

test("a failed test, a file that does not load and a failed hook each count as failed", async () => {
  const run = await runVitest({
    "a.test.ts": `test("a", () => {}); test("b", () => { throw new Error("no"); });`,
    "b.test.ts": `throw new Error("does not load");`,
    "c.test.ts": `describe("d", () => { beforeAll(() => { throw new Error("no"); }); test("e", () => {}); });`,
  });
  expect(run).toEqual({ code: 1, lastLine: "1 passed, 3 failed, 1 skipped" });
});

test("an unhandled rejection counts as failed though every test passed", async () => {
  const run = await runVitest({
    "a.test.ts": `test("a", async () => {
      void Promise.reject(new Error("nobody waits"));
      await new Promise((resolve) => setTimeout(resolve, 20));
    });`,
  });
  expect(run).toEqual({ code: 1, lastLine: "1 passed, 1 failed, 0 skipped" });
});

test("a global setup that throws counts as failed", async () => {
  const run = await runVitest({
    "vitest.config.mjs": `export default { test: { globalSetup: "./setup.mjs" } };`,
    "setup.mjs": `export function setup() { throw new Error("no cluster"); }`,
    "a.test.ts": `test("a", () => {});`,
  });
  expect(run).toEqual({ code: 1, lastLine: "0 passed, 1 failed, 0 skipped" });
});

test("a run that something else turned red does not close with 0 failed", async () => {
  const run = await runVitest({
    "vitest.config.mjs": `export default { test: { globalSetup: "./setup.mjs" } };`,
    "setup.mjs": `export function teardown() { process.exitCode = 1; }`,
    "a.test.ts": `test("a", () => {});`,
  });
  expect(run).toEqual({ code: 1, lastLine: "1 passed, 1 failed, 0 skipped" });
});
