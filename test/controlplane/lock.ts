// One builder at a time: a path in, the right to work out, given back at the end. A lock whose owner is gone is taken over.
// It saves work, it does not guard truth: two owners would build twice, and the cache's rename lets one of them win.

import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import {
  getProcessIdentity,
  isProcessIdentity,
  isRunning,
  type ProcessIdentity,
} from "./identity.ts";

const POLL_MS = 200;

export interface LockOptions {
  readonly path: string;
  /** Called once, when somebody else holds it. */
  readonly onWait?: (owner: ProcessIdentity) => void;
  readonly self?: ProcessIdentity | undefined;
}

/** Resolves to the function that gives the lock back. */
export async function takeLock(options: LockOptions): Promise<() => Promise<void>> {
  const { path, self = getProcessIdentity(process.pid) } = options;
  const draft = `${path}.${process.pid}.${process.hrtime.bigint()}`;
  const text = JSON.stringify(self);
  let told = false;
  await writeFile(draft, text);
  try {
    for (;;) {
      // A hard link appears with its content or not at all, so that nobody ever reads a lock without an owner.
      if (await tryLink(draft, path)) return () => releaseLock(path, text);
      const held = await readIfPresent(path);
      if (held === undefined) continue;
      const owner = parseOwner(held);
      if (owner === undefined || !isRunning(owner)) {
        await breakLock(path, held);
        continue;
      }
      if (!told) options.onWait?.(owner);
      told = true;
      await pause(POLL_MS);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/** Moves a dead owner's lock away; puts it back when it turns out that somebody took over in between. */
async function breakLock(path: string, stale: string): Promise<void> {
  const aside = `${path}.broken.${process.pid}.${process.hrtime.bigint()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return;
    throw error;
  }
  if ((await readIfPresent(aside)) !== stale) await tryLink(aside, path);
  await rm(aside, { force: true });
}

async function releaseLock(path: string, text: string): Promise<void> {
  if ((await readIfPresent(path)) === text) await rm(path, { force: true });
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

function parseOwner(text: string): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isProcessIdentity(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
