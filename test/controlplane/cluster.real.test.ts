// The harness itself: clusters that start, that come back, and of which nothing stays behind.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, inject, test, vi } from "vitest";
import { startCluster } from "./cluster.ts";
import { isRunning, type ProcessIdentity } from "./identity.ts";
import { openReader } from "./request.ts";
import { OWNER_FILE } from "./sweep.ts";

const HOLD = fileURLToPath(new URL("hold.ts", import.meta.url));

interface Remains {
  readonly folder: string;
  readonly owner: ProcessIdentity;
  readonly daemons: readonly ProcessIdentity[];
}

function recordOf(kubeconfigPath: string): Remains {
  const folder = dirname(kubeconfigPath);
  return { folder, ...JSON.parse(readFileSync(join(folder, OWNER_FILE), "utf8")) };
}

async function holdCluster(): Promise<{ child: ChildProcess; remains: Remains }> {
  const child = spawn(process.execPath, ["--import", "tsx", HOLD], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const kubeconfigPath = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
  });
  return { child, remains: recordOf(kubeconfigPath) };
}

async function expectNothingLeft(remains: Remains): Promise<void> {
  await vi.waitFor(
    () => {
      expect([remains.owner, ...remains.daemons].filter(isRunning)).toEqual([]);
      expect(existsSync(remains.folder)).toBe(false);
    },
    { timeout: 60_000, interval: 50 },
  );
}

test("the shared clusters serve the same version with service addresses of their own", async () => {
  const clusters = inject("clusters");
  expect(clusters.map(({ name }) => name)).toEqual(["east", "west", "edge"]);
  const answers = [];
  for (const cluster of clusters) {
    const reader = await openReader(cluster.kubeconfigPath);
    answers.push({
      version: await reader.getJson("/version"),
      ranges: await reader.getJson("/apis/networking.k8s.io/v1/servicecidrs/kubernetes"),
    });
    await reader.close();
  }
  for (const [index, answer] of answers.entries()) {
    expect(answer.version).toMatchObject({ gitVersion: clusters[index]!.version });
    expect(answer.ranges).toMatchObject({ spec: { cidrs: clusters[index]!.serviceCidrs } });
  }
  expect(new Set(clusters.flatMap(({ serviceCidrs }) => serviceCidrs)).size).toBe(6);
});

test("a restarted API server has the same address and the same data; a stopped cluster leaves nothing", async () => {
  const cluster = await startCluster({ name: "restarted", controllerManager: false });
  const remains = recordOf(cluster.kubeconfigPath);
  const reader = await openReader(cluster.kubeconfigPath);
  try {
    const before = await reader.getJson("/api/v1/namespaces/default");
    await cluster.stopApiserver();
    expect((await reader.get("/readyz")).status).toBe(0);
    await cluster.startApiserver();
    expect(await reader.getJson("/api/v1/namespaces/default")).toEqual(before);
  } finally {
    await reader.close();
    await cluster.stop();
  }
  await expectNothingLeft(remains);
});

test("an etcd that is killed and started again has its data, and the API server in front of it serves on", async () => {
  const cluster = await startCluster({ name: "emptied", controllerManager: false });
  const reader = await openReader(cluster.kubeconfigPath);
  try {
    const before = await reader.getJson("/api/v1/namespaces/default");
    await cluster.killEtcd();
    await vi.waitFor(async () => expect((await reader.get("/readyz")).status).not.toBe(200), {
      timeout: 60_000,
    });
    await cluster.startEtcd();
    expect(await reader.getJson("/api/v1/namespaces/default")).toEqual(before);
  } finally {
    await reader.close();
    await cluster.stop();
  }
});

test("a paused API server keeps its connections, answers nothing, and answers again when resumed", async () => {
  const cluster = await startCluster({ name: "paused", controllerManager: false });
  const reader = await openReader(cluster.kubeconfigPath);
  try {
    expect((await reader.get("/readyz")).status).toBe(200);
    await cluster.pauseApiserver();
    let answered = false;
    const answer = reader.get("/readyz").finally(() => {
      answered = true;
    });
    // Not a sleep for something to happen: the other, unpaused server answers meanwhile, this one must not.
    const east = await openReader(inject("clusters")[0]!.kubeconfigPath);
    for (let i = 0; i < 10; i += 1) expect((await east.get("/livez/ping")).status).toBe(200);
    await east.close();
    expect(answered).toBe(false);
    await cluster.resumeApiserver();
    expect((await answer).status).toBe(200);
  } finally {
    await reader.close();
    await cluster.stop();
  }
});

test("a test process that is killed leaves no daemon and no folder behind", async () => {
  const { child, remains } = await holdCluster();
  expect(remains.daemons.length).toBeGreaterThanOrEqual(2);
  expect([remains.owner, ...remains.daemons].every(isRunning)).toBe(true);
  child.kill("SIGKILL");
  await expectNothingLeft(remains);
});

test("what a killed supervisor leaves behind is cleared by the next start", async () => {
  const { child, remains } = await holdCluster();
  process.kill(remains.owner.pid, "SIGKILL");
  await vi.waitFor(() => expect(isRunning(remains.owner)).toBe(false), { timeout: 60_000 });
  expect(remains.daemons.every(isRunning)).toBe(true);
  const next = await startCluster({ name: "next", controllerManager: false });
  await expectNothingLeft(remains);
  await next.stop();
  child.kill("SIGKILL");
});

test("a cluster that cannot start says why in the daemon's own words", async () => {
  const failed = startCluster({
    name: "refused",
    serviceCidrs: ["10.0.0.0/99", "fd00::/112"],
    controllerManager: false,
  });
  await expect(failed).rejects.toThrow(
    /kube-apiserver ended while it started[^]*not a valid cidr/u,
  );
});
