// Which process exactly: a pid in, a name for it that no later process can bear out. Never signals anything.
// A pid alone proves nothing, because the system gives it to somebody else after a while.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Boot and start time; compared as a whole. */
  readonly startedAt: string;
}

/** Undefined when there is no such process, or when it is dead and only waits for its parent to notice. */
export function getProcessIdentity(pid: number): ProcessIdentity | undefined {
  const startedAt = process.platform === "linux" ? readStartFromProc(pid) : readStartFromPs(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

export function isRunning(identity: ProcessIdentity): boolean {
  return getProcessIdentity(identity.pid)?.startedAt === identity.startedAt;
}

export function isProcessIdentity(value: unknown): value is ProcessIdentity {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    Number.isSafeInteger(value.pid) &&
    Number(value.pid) > 1 &&
    "startedAt" in value &&
    typeof value.startedAt === "string"
  );
}

function readStartFromProc(pid: number): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name stands in parentheses and may hold spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    const startTicks = fields[19];
    if (startTicks === undefined || state === "Z" || state === "X") return undefined;
    return `${boot}/${startTicks}`;
  } catch {
    return undefined;
  }
}

function readStartFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
    const [state = "", ...start] = line.split(/\s+/u);
    return line === "" || state.startsWith("Z") ? undefined : start.join(" ");
  } catch {
    return undefined;
  }
}
