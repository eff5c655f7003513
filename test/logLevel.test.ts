// The level of a log that follows the configuration file, on a clock that the test moves.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Given, runConfigured } from "../src/cli/configured.ts";
import type { CliContext } from "../src/cli/context.ts";
import type { Log } from "../src/ports/log.ts";
import { VirtualClock } from "./clock.ts";
import { temporaryDirectory } from "./loopback.ts";

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly settings?: readonly string[];
  readonly error?: string;
}

/** A command that only speaks when it is told to. */
function aCommand(text: string, given: Partial<Given<"agent">> = {}) {
  const file = join(temporaryDirectory(), "isthmus.yaml");
  const write = (text: string): void => writeFileSync(file, text);
  write(text);
  const clock = new VirtualClock();
  const lines: Line[] = [];
  const stopping = new AbortController();
  const context: CliContext = {
    out: () => undefined,
    error: (line) => lines.push(JSON.parse(line) as Line),
    input: () => Promise.resolve(""),
    color: false,
    interactive: false,
    env: { ISTHMUS_CONFIG: file },
    home: "/",
    clock,
    random: () => 0.5,
    signal: stopping.signal,
  };
  const logs: Log[] = [];
  const end = runConfigured(context, { name: "agent", flags: {}, ...given }, async (_, log) => {
    // A part with fields of its own begins before the level changes.
    logs.push(log, log.with({ part: "importer" }));
    await new Promise<void>((resolve) => {
      stopping.signal.addEventListener("abort", () => resolve());
    });
  });
  const stop = (): Promise<void> => {
    stopping.abort();
    return end;
  };
  /** What of these is heard now, by both. */
  const heard = (): readonly string[] => {
    const before = lines.length;
    for (const log of logs) {
      log.debug("said");
      log.info("said");
      log.warn("said");
      log.error("said");
    }
    return lines.splice(before).map(({ level }) => level);
  };
  return { file, write, clock, lines, heard, stop };
}

const BOTH = ["info", "warn", "error", "info", "warn", "error"];

test("the level follows the file, also of parts that began before, and only while the command runs", async () => {
  const { write, clock, lines, heard, stop } = aCommand("agent: { logLevel: error }");
  expect(heard()).toEqual(["error", "error"]);
  write("agent: { logLevel: debug }");
  await clock.advance(2_000);
  expect(lines).toMatchObject([{ msg: "log level changed", from: "error", to: "debug" }]);
  expect(heard()).toContain("debug");
  write("agent: { logLevel: info }");
  await clock.advance(2_000);
  expect(heard()).toEqual(BOTH);
  write("agent: { logLevel: error }");
  await clock.advance(2_000);
  expect(lines.at(-1)).toMatchObject({ msg: "log level changed", from: "info", to: "error" });
  await stop();
  expect(clock.pendingTimers).toBe(0);
});

test("a flag wins over the file at run time as at the start", async () => {
  const { write, clock, heard, stop } = aCommand("", { flags: { logLevel: "info" } });
  // The environment of the test names the file; the flag is the level's.
  write("agent: { logLevel: debug }");
  await clock.advance(2_000);
  expect(heard()).toEqual(BOTH);
  await stop();
});

test("a file that was broken or taken away meanwhile is said once, and changes nothing", async () => {
  const { file, write, clock, lines, heard, stop } = aCommand("agent: { logLevel: info }");
  write("agent: { logLevel: loud, metricsAddress: x }");
  await clock.advance(20_000);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    level: "warn",
    msg: "configuration file has changed, and is not taken over",
  });
  expect(lines[0]!.error).toContain("agent.metricsAddress");
  rmSync(file);
  await clock.advance(20_000);
  expect(lines).toHaveLength(2);
  expect(heard()).toEqual(BOTH);
  write("agent: { logLevel: error }");
  await clock.advance(2_000);
  expect(heard()).toEqual(["error", "error"]);
  await stop();
});

test("other settings are not taken over, but named", async () => {
  const { write, clock, lines, stop } = aCommand("agent: { logLevel: info }");
  write("agent: { metricsAddress: ':9', denyNamespace: [a] }\ndns: { ttl: 3 }");
  await clock.advance(2_000);
  expect(lines).toMatchObject([
    {
      msg: "settings have changed that count from the next start on",
      settings: ["agent.denyNamespace", "agent.metricsAddress"],
    },
  ]);
  await stop();
});

test("a process that helps comes back while the file is broken, says nothing of it, and follows it later", async () => {
  const helper = aCommand("agent: { logLevel: loud }", { isHelper: true });
  const { write, clock, lines, heard, stop } = helper;
  expect(heard()).toEqual(BOTH);
  write("agent: { logLevel: error, metricsAddress: ':9' }");
  await clock.advance(2_000);
  expect(lines).toEqual([]);
  expect(heard()).toEqual(["error", "error"]);
  await stop();
});
