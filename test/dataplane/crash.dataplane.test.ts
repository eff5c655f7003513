// Whoever of the chain is killed takes all with it: processes, networks, files. See tools/dataplane.ts for the chain.

import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { getProcessIdentity, isRunning } from "../controlplane/identity.ts";
import { eventually } from "../scenarios/poll.ts";

const FIXTURE = fileURLToPath(new URL("held.ts", import.meta.url));
/** Node, a network and a daemon start on a busy machine. */
const HOLD_MS = 60_000;
/** In the order in which each started the next. */
const CHAIN = ["npm", "the launcher", "unshare", "process 1", "the runner"] as const;

/** A shell stands in for npm: it waits for what it started and does not pass signals on. */
async function hold(): Promise<ChildProcess> {
  const script = '"$0" --import tsx "$1"; exit $?';
  const child = spawn("sh", ["-c", script, process.execPath, FIXTURE], {
    env: { ...process.env, npm_lifecycle_event: "test:dataplane" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: string[] = [];
  for (const output of [child.stdout, child.stderr]) {
    createInterface(output).on("line", (line) => said.push(line));
  }
  await eventually(
    'it says "holding"',
    () => {
      if (!said.includes("holding")) throw new Error(`It said:\n${said.join("\n")}`);
    },
    HOLD_MS,
  );
  return child;
}

function listProcesses(): readonly { readonly pid: number; readonly parent: number }[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      return { pid: Number(name), parent };
    } catch {
      // It ended while we looked.
      return [];
    }
  });
}

/** Itself first, then what it started, and so on. */
function listFamily(pid: number): readonly number[] {
  const all = listProcesses();
  const family = [pid];
  for (const member of family) {
    family.push(...all.flatMap((each) => (each.parent === member ? each.pid : [])));
  }
  return family;
}

function listNetworks(pids: readonly number[]): ReadonlySet<string> {
  return new Set(
    pids.flatMap((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/ns/net`);
      } catch {
        return [];
      }
    }),
  );
}

function listTraces(): readonly string[] {
  return [
    ...listNetworks(listProcesses().map(({ pid }) => pid)),
    ...readdirSync("/run/netns"),
    ...readdirSync("/sys/class/net"),
    ...readdirSync(tmpdir()).filter((name) => name.startsWith("isthmus-")),
    ...readFileSync("/proc/self/mounts", "utf8").split("\n"),
  ];
}

test.each(CHAIN)("when %s is killed nothing is left", async (who) => {
  const before = listTraces();
  const child = await hold();
  // In the network that was there, in the fabric, and the sleeper in the node.
  const family = await eventually("three networks are in use", () => {
    const pids = listFamily(child.pid ?? 0);
    expect(listNetworks(pids).size).toBe(3);
    return pids;
  });
  const identities = family.flatMap((pid) => getProcessIdentity(pid) ?? []);
  process.kill(family[CHAIN.indexOf(who)] ?? 0, "SIGKILL");
  await eventually("every process has ended", () =>
    expect(identities.filter(isRunning)).toEqual([]),
  );
  await eventually("all is as it was", () => expect(listTraces()).toEqual(before));
});
