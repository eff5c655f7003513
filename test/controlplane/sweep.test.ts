// The sweep ends what is provably ours and abandoned, and nothing else.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { getProcessIdentity, isRunning, type ProcessIdentity } from "./identity.ts";
import { OWNER_FILE, sweepLeftovers } from "./sweep.ts";

let root = "";
let stranger: ChildProcess;
let identity: ProcessIdentity;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "isthmus-sweep-"));
  stranger = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  await new Promise((resolve) => stranger.once("spawn", resolve));
  identity = getProcessIdentity(stranger.pid!)!;
});
afterEach(() => {
  stranger.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

function aFolder(record?: { owner: unknown; daemons: readonly ProcessIdentity[] }): string {
  const folder = join(root, "ours-1");
  mkdirSync(folder);
  if (record) writeFileSync(join(folder, OWNER_FILE), JSON.stringify(record));
  return folder;
}

/** A pid given again: the process lives, but it is not the one on record. */
function withOtherStart({ pid }: ProcessIdentity): ProcessIdentity {
  return { pid, startedAt: "another boot/1" };
}

test("a daemon on record is killed and its folder removed when the owner is gone", async () => {
  const folder = aFolder({ owner: withOtherStart(identity), daemons: [identity] });
  sweepLeftovers(root, "ours-");
  expect(existsSync(folder)).toBe(false);
  await vi.waitFor(() => expect(isRunning(identity)).toBe(false), { timeout: 60_000 });
});

test("a process that only bears a recorded pid is left alone", () => {
  const recorded = withOtherStart(identity);
  const folder = aFolder({ owner: recorded, daemons: [recorded] });
  sweepLeftovers(root, "ours-");
  expect(existsSync(folder)).toBe(false);
  expect(isRunning(identity)).toBe(true);
});

test("nothing is touched while the owner runs", () => {
  const owner = getProcessIdentity(process.pid);
  const folder = aFolder({ owner, daemons: [identity] });
  sweepLeftovers(root, "ours-");
  expect(existsSync(folder)).toBe(true);
  expect(isRunning(identity)).toBe(true);
});

test("a folder without a record is left until it is an hour old", () => {
  const folder = aFolder();
  sweepLeftovers(root, "ours-");
  expect(existsSync(folder)).toBe(true);
  const old = new Date(Date.now() - 2 * 3_600_000);
  utimesSync(folder, old, old);
  sweepLeftovers(root, "ours-");
  expect(existsSync(folder)).toBe(false);
});

test("a folder of another name is left alone", () => {
  const folder = aFolder({ owner: withOtherStart(identity), daemons: [identity] });
  sweepLeftovers(root, "theirs-");
  expect(existsSync(folder)).toBe(true);
  expect(isRunning(identity)).toBe(true);
});

test("a process that has ended is not running, nor is one that never was", async () => {
  stranger.kill("SIGKILL");
  await new Promise((resolve) => stranger.once("exit", resolve));
  expect(isRunning(identity)).toBe(false);
  expect(getProcessIdentity(2 ** 22 + 1)).toBeUndefined();
});
