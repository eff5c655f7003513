// Clears up after supervisors that were killed: folders in, nothing left of them. Signals only processes whose
// pid and start time are both on record, so never a stranger that got an old pid.

import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isProcessIdentity, isRunning, type ProcessIdentity } from "./identity.ts";

export const OWNER_FILE = "owner.json";

/** A folder without a record is younger than its record, or broken; broken ones do not matter for an hour. */
const UNRECORDED_MS = 3_600_000;

export function sweepLeftovers(root: string, prefix: string): void {
  for (const name of readdirSync(root)) {
    if (name.startsWith(prefix)) sweepFolder(join(root, name));
  }
}

function sweepFolder(folder: string): void {
  const record = readRecord(folder);
  if (record === undefined ? !isOld(folder) : isRunning(record.owner)) return;
  for (const daemon of record?.daemons ?? []) {
    if (isRunning(daemon)) killGroup(daemon.pid);
  }
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } catch {
    // Somebody else sweeps the same folder, or it is not ours to remove: the next run looks again.
  }
}

/** Daemons lead a group of their own. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined || pid <= 1) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself in the meantime.
  }
}

function readRecord(
  folder: string,
): { owner: ProcessIdentity; daemons: readonly ProcessIdentity[] } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, OWNER_FILE), "utf8"));
    if (typeof value !== "object" || value === null || !("owner" in value)) return undefined;
    if (!isProcessIdentity(value.owner)) return undefined;
    const daemons = "daemons" in value && Array.isArray(value.daemons) ? value.daemons : [];
    return { owner: value.owner, daemons: daemons.filter(isProcessIdentity) };
  } catch {
    return undefined;
  }
}

function isOld(folder: string): boolean {
  try {
    return statSync(folder).mtimeMs < Date.now() - UNRECORDED_MS;
  } catch {
    return false;
  }
}
