// Pods and callers on one real cluster without a kube-proxy: what stories take for granted. A name server of the test's own leads
// callers to the pods themselves.

import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { request } from "undici";
import { CONFIG_MAP, NAMESPACE, POD, type Pod } from "../../src/api/builtin.ts";
import { eventually } from "../scenarios/poll.ts";
import { type BackendOptions, renderBackends } from "./backends.ts";
import { type BedControl, startControl } from "./cluster.ts";
import { type Fabric, startFabric } from "./fabric.ts";
import { bundlePrograms } from "./images.ts";
import { type Kubelet, READY_ANNOTATION, startKubelet } from "./kubelet.ts";
import { startNameServer } from "./nameServer.ts";
import { FABRIC4, FABRIC6, planCluster } from "./plan.ts";
import { RUN_POD, type RunPod } from "./pod.ts";
import { namespaceOf } from "./podnetwork.ts";
import type { Tally } from "./programs/tally.ts";
import { startScheduler } from "./scheduler.ts";
import { startCaller } from "./traffic.ts";
import { aNamespace, DEPLOYMENT } from "./workload.ts";

const run = promisify(execFile);
const LIMIT_MS = 60_000;
const shop = "shop";
const plan = planCluster("east");
let folder: string;
let fabric: Fabric;
let cluster: BedControl;
let kubelet: Kubelet;

/** Says what it finds in a file, until it is told by its path that it is to be unwell. */
const READER = `
const { readFileSync } = require("node:fs");
let isWell = true;
require("node:http").createServer(({ url }, response) => {
  if (url === "/fall-ill") isWell = false;
  if (url === "/healthz" || url === "/readyz") return response.writeHead(isWell ? 200 : 500).end();
  response.end(url.startsWith("/read") ? readFileSync(url.slice("/read".length)) : "");
}).listen(8080);`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "isthmus-pods-"));
  fabric = await startFabric([plan]);
  cluster = await startControl(plan, fabric);
  const reader = { command: [process.execPath, "-e", READER, "--"], hasVolumes: true };
  const images = new Map([...(await bundlePrograms(folder)), ["reader", reader]]);
  const { logsPath } = cluster.control;
  kubelet = await startKubelet({ plan, client: cluster.store, images, logsPath, folder });
  await cluster.store.create(NAMESPACE, aNamespace(shop));
});
afterAll(async () => {
  await kubelet?.stop();
  await cluster?.stop();
  await fabric?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function deploy(name: string, wishes: Partial<BackendOptions> = {}): Promise<void> {
  // As long as somebody asks, and no longer: a drain by the clock alone may be over before a busy machine has noticed it.
  const drain = { drainMs: 1000, drainAtMostMs: 60_000 };
  const options = { namespace: shop, name, replicas: 1, ...drain, ...wishes };
  await cluster.store.create(DEPLOYMENT, renderBackends(cluster, options));
}

async function podsOf(name: string): Promise<readonly Pod[]> {
  const selection = { namespace: shop, labelSelector: `app=${name}` };
  return (await cluster.store.list(POD, selection)).items;
}

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True");
}

function readyPods(name: string, count = 1): Promise<readonly Pod[]> {
  return eventually(
    `${name} has ${count} ready pods`,
    async () => {
      const pods = (await podsOf(name)).filter(isReady);
      expect(pods).toHaveLength(count);
      return pods;
    },
    LIMIT_MS,
  );
}

function addressesOf(pod: Pod | undefined): Record<4 | 6, string[]> {
  const [four = "", six = ""] = (pod?.status?.podIPs ?? []).map(({ ip }) => ip);
  return { 4: [four], 6: [six] };
}

function numberOf(pod: Pod | undefined): number {
  return Number(pod?.status?.podIP?.split(".").at(-1));
}

async function restartsOf(name: string): Promise<unknown[]> {
  const path = `/api/v1/namespaces/${shop}/pods`;
  const query = { labelSelector: `app=${name}` };
  const { body } = await cluster.store.request("GET", path, { query });
  type Counted = { status: { containerStatuses?: { restartCount: number; ready: boolean }[] } };
  return (body as { items: Counted[] }).items.flatMap(({ status }) =>
    (status.containerStatuses ?? []).map(({ restartCount, ready }) => ({ restartCount, ready })),
  );
}

async function call(name: string, says: Parameters<typeof startNameServer>[0]) {
  const names = await startNameServer(says);
  const dns = { 4: `${FABRIC4}:${names.port}`, 6: `[${FABRIC6}]:${names.port}` };
  const caller = await startCaller(cluster, { namespace: shop, name, target: "web.shop", dns });
  return { names, caller };
}

function everyFlow(tally: Tally, isTrue: (flow: Tally["flows"][number]) => boolean): boolean {
  return tally.flows.length === 6 && tally.flows.every(isTrue);
}

test("a pod answers over both families and all protocols, and its end is counted by every flow", async () => {
  await deploy("answers", { drainMs: 0, drainAtMostMs: 0 });
  const [pod] = await readyPods("answers");
  const { caller } = await call("caller-answers", addressesOf(pod));
  await caller.until("answers", (tally) => everyFlow(tally, ({ sent }) => sent >= 5));
  const well = await caller.mark();
  for (const { failed, byPod } of well.flows) {
    expect(failed).toBe(0);
    expect(Object.keys(byPod)).toEqual([`east/${pod?.metadata.name}`]);
  }
  await cluster.store.delete(DEPLOYMENT, { namespace: shop, name: "answers" });
  const dead = await caller.until("failures", (tally) =>
    everyFlow(tally, ({ failed }) => failed >= 3),
  );
  for (const { longestGapMs } of dead.flows) expect(longestGapMs).toBeGreaterThan(1000);
  await caller.stop();
});

test("a name that goes away fails every flow, HTTP too once its connection is gone", async () => {
  await deploy("nameless");
  const [pod] = await readyPods("nameless");
  const { names, caller } = await call("caller-nameless", addressesOf(pod));
  await caller.until("answers", (tally) => everyFlow(tally, ({ sent }) => sent >= 3));
  names.says = "NXDOMAIN";
  await caller.mark();
  await cluster.store.delete(DEPLOYMENT, { namespace: shop, name: "nameless" });
  const { flows } = await caller.until("failures", (tally) =>
    everyFlow(tally, ({ failedBy }) => (failedBy["name not found"] ?? 0) > 0),
  );
  // The connection was told to close: no request was lost on it.
  for (const flow of flows) expect(Object.keys(flow.failedBy)).toEqual(["name not found"]);
  await caller.stop();
});

test("a pod that is told to go says so, serves until it has drained, and only then its object goes", async () => {
  await deploy("drains");
  const [pod] = await readyPods("drains");
  const name = pod?.metadata.name ?? "";
  const { caller } = await call("caller-drains", addressesOf(pod));
  await caller.until("answers", (tally) => everyFlow(tally, ({ sent }) => sent >= 3));
  await caller.mark();
  await cluster.store.delete(DEPLOYMENT, { namespace: shop, name: "drains" });
  await eventually("it is going", async () => {
    const [going] = await podsOf("drains");
    expect(going?.metadata.deletionTimestamp).toBeDefined();
    expect(going !== undefined && isReady(going)).toBe(false);
  });
  const before = await caller.tally();
  const served = await caller.until("answers while it drains", (tally) =>
    everyFlow(tally, ({ sent }) => sent >= 10 + Math.max(...before.flows.map((one) => one.sent))),
  );
  expect(served.flows.map(({ failed }) => failed)).toEqual([0, 0, 0, 0, 0, 0]);
  await caller.stop();
  await eventually("it is gone", async () => {
    expect(await cluster.store.get(POD, { namespace: shop, name })).toBeUndefined();
  });
});

test("the annotation makes a pod not ready, and its absence ready again", async () => {
  await deploy("moody");
  const [pod] = await readyPods("moody");
  const name = pod?.metadata.name ?? "";
  const path = `/api/v1/namespaces/${shop}/pods/${name}`;
  const annotate = (value: string | null) =>
    cluster.store.request("PATCH", path, {
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { annotations: { [READY_ANNOTATION]: value } } },
    });
  await annotate("false");
  await eventually("it is not ready", async () => {
    expect((await podsOf("moody")).filter(isReady)).toEqual([]);
  });
  await annotate(null);
  await readyPods("moody");
});

test("a pod whose process dies is started again, and is ready when that process is", async () => {
  await deploy("crashes");
  const [pod] = await readyPods("crashes");
  const { stdout } = await run("ip", ["netns", "pids", namespaceOf(plan, numberOf(pod))]);
  for (const pid of stdout.split("\n").filter((line) => line !== "")) {
    process.kill(Number(pid), "SIGKILL");
  }
  await eventually("it runs again", async () => {
    expect(await restartsOf("crashes")).toEqual([{ restartCount: 1, ready: true }]);
  });
  expect((await readyPods("crashes"))[0]?.status?.podIPs).toEqual(pod?.status?.podIPs);
});

test("a pod that will not end is killed when its grace is over", async () => {
  const ref = { namespace: shop, name: "stubborn" };
  await cluster.store.create(RUN_POD, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...ref, labels: { app: "stubborn" } },
    spec: {
      nodeName: plan.name,
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: "backend", image: "backend", env: [{ name: "DRAIN_MS", value: "3600000" }] },
      ],
    },
  });
  await readyPods("stubborn");
  await cluster.store.delete(POD, ref);
  await eventually("it is gone", async () => {
    expect(await cluster.store.get(POD, ref)).toBeUndefined();
  });
});

function aReader(name: string): RunPod {
  const probe = { periodSeconds: 1, failureThreshold: 2 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: shop, name, labels: { app: name } },
    spec: {
      containers: [
        {
          name: "reader",
          image: "reader",
          ports: [{ name: "web", containerPort: 8080 }],
          readinessProbe: { ...probe, httpGet: { port: "web", path: "/readyz" } },
          volumeMounts: [{ name: "words", mountPath: "/etc/isthmus-test/words" }],
        },
      ],
      volumes: [{ name: "words", configMap: { name: "words" } }],
    },
  };
}

async function startReader(pod: RunPod): Promise<(path: string) => Promise<string>> {
  const { name = "" } = pod.metadata;
  // Not before the namespace has a ServiceAccount.
  await eventually(`${name} is taken`, () => cluster.store.create(RUN_POD, pod));
  const [running] = await readyPods(name);
  const url = `http://${running?.status?.podIP}:8080`;
  return async (path) => (await request(`${url}${path}`)).body.text();
}

test("a container that nobody gave a node finds what its Pod mounts, and is its ServiceAccount", async () => {
  const scheduler = startScheduler(cluster.store, plan.name);
  onTestFinished(() => scheduler.stop());
  const metadata = { namespace: shop, name: "words" };
  const data = { first: "a word" };
  await cluster.store.create(CONFIG_MAP, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data,
  });
  const ask = await startReader(aReader("reads"));
  expect(await ask("/read/etc/isthmus-test/words/first")).toBe("a word");
  expect(existsSync("/etc/isthmus-test")).toBe(false);
  const identity = "/read/var/run/secrets/kubernetes.io/serviceaccount";
  expect(await ask(`${identity}/namespace`)).toBe(shop);
  expect(await ask(`${identity}/ca.crt`)).toBe(cluster.control.caPem);
  const { body } = await cluster.store.request(
    "POST",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    {
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: await ask(`${identity}/token`) },
      },
    },
  );
  expect(body).toMatchObject({
    status: { user: { username: `system:serviceaccount:${shop}:default` } },
  });
});

test("a container is ready for as long as its probe says so, and is started anew when it is not alive", async () => {
  const scheduler = startScheduler(cluster.store, plan.name);
  onTestFinished(() => scheduler.stop());
  const pod = aReader("falls-ill");
  const [container] = pod.spec!.containers;
  const { volumeMounts: _, ...rest } = container!;
  const livenessProbe = { ...rest.readinessProbe, failureThreshold: 5 };
  const spec = { containers: [{ ...rest, livenessProbe }] };
  const ask = await startReader({ ...pod, spec });
  await ask("/fall-ill");
  await eventually("it is not ready", async () => {
    expect((await podsOf("falls-ill")).filter(isReady)).toEqual([]);
  });
  await eventually("another process took its place", async () => {
    expect(await restartsOf("falls-ill")).toEqual([{ restartCount: 1, ready: true }]);
  });
});

test("after a power cut the same pods come back at the same addresses", async () => {
  await deploy("returns", { replicas: 2 });
  const before = await readyPods("returns", 2);
  await Promise.all([kubelet.kill(), cluster.kill()]);
  await cluster.revive();
  await kubelet.revive();
  await eventually(
    "both run again",
    async () => {
      const again = { restartCount: 1, ready: true };
      expect(await restartsOf("returns")).toEqual([again, again]);
    },
    LIMIT_MS,
  );
  const after = await readyPods("returns", 2);
  const known = (pods: readonly Pod[]) =>
    pods.map(({ metadata, status }) => JSON.stringify([metadata.uid, status?.podIPs])).toSorted();
  expect(known(after)).toEqual(known(before));
});

test("a caller that died has lost its counts, and says so", async () => {
  const { caller } = await call("caller-mortal", "NXDOMAIN");
  await caller.until("failures", (tally) => everyFlow(tally, ({ failed }) => failed > 0));
  await cluster.store.delete(POD, { namespace: shop, name: "caller-mortal" });
  await expect(
    eventually("it is gone", async () => {
      expect(
        await cluster.store.get(POD, { namespace: shop, name: "caller-mortal" }),
      ).toBeUndefined();
    }),
  ).resolves.toBeUndefined();
  await expect(caller.tally()).rejects.toThrow("caller-mortal did not answer GET /tally");
});
