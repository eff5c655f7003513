// Data plane: an engine as the chart installs it: the hub by one release of it, and in each member a release whose Deployment runs
// the agents as Pods. A bed with a hub in, clusters that are members out, and what an administrator does with a release.

import { request } from "undici";
import { expect } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION } from "../../src/api/builtin.ts";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { SYSTEM_NAMESPACE } from "../../src/api/names.ts";
import { AGENT_NAME } from "../../src/hub/local.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { Helm, type Values } from "../chart/helm.ts";
import { eventually } from "../scenarios/poll.ts";
import type { Bed } from "./bed.ts";
import type { Engine } from "./engines.ts";
import { MEMBERS, type MemberName } from "./plan.ts";
import { RUN_POD, type RunPod } from "./pod.ts";
import { type ReleaseName, VERSIONS, writeCharts } from "./releases.ts";
import { startScheduler } from "./scheduler.ts";
import { isReady, LIMIT_MS } from "./shop.ts";

type Place = MemberName | "hub";

export interface ChartEngine extends Engine {
  /** `helm upgrade --wait`, with the chart of that release. */
  upgrade(place: Place, release: ReleaseName): Promise<void>;
  /** `helm rollback --wait`, to what was there before. */
  rollBack(place: Place): Promise<void>;
  /** As the chart's notes tell: the agents stop, the cluster leaves, the chart goes. Answers what was said. */
  remove(id: MemberName): Promise<{ readonly left: string; readonly uninstalled: string }>;
  /** Every agent of the member is of that release and ready, and none is on its way out. */
  runs(id: MemberName, release: ReleaseName): Promise<void>;
  /** Before the bed. */
  stop(): Promise<void>;
}

const RELEASE = "isthmus";
const WHERE = ["--namespace", SYSTEM_NAMESPACE];
const WAIT = ["--wait", "--timeout", "4m"];
const HUB_VALUES = { hub: { enabled: true }, agent: { enabled: false } };
/** What the chart starts unless it is told otherwise. */
const REPLICAS = 2;
const METRICS_PORT = 9402;

export async function startChartEngine(bed: Bed): Promise<ChartEngine> {
  const { hub, isthmus } = bed;
  if (hub === undefined) throw new Error("Agents need a bed with a hub: give isHubNeeded.");
  const charts = writeCharts(bed.folder);
  const helms = {
    hub: await Helm.open(hub.kubeconfigPath),
    east: await Helm.open(bed.clusters.east.kubeconfigPath),
    west: await Helm.open(bed.clusters.west.kubeconfigPath),
    edge: await Helm.open(bed.clusters.edge.kubeconfigPath),
  } satisfies Record<Place, Helm>;
  const valuesOf = (place: Place): Values => (place === "hub" ? HUB_VALUES : {});
  const schedulers = MEMBERS.map((id) => startScheduler(bed.clusters[id].store, id));

  async function install(place: Place): Promise<void> {
    if (place !== "hub") await removeDefinitions(bed.clusters[place].store);
    const args = ["install", RELEASE, charts.this, ...WHERE, "--create-namespace"];
    await helms[place].run(args, valuesOf(place));
  }

  async function join(id: MemberName, ticket: string): Promise<void> {
    const where = ["--kubeconfig", bed.clusters[id].kubeconfigPath, "--cluster-id", id];
    await isthmus("join", ...where, "--token", ticket);
  }

  async function runs(id: MemberName, release: ReleaseName): Promise<void> {
    const labelSelector = "app.kubernetes.io/component=agent";
    await eventually(
      `${id} has ${REPLICAS} agents of ${release} release, and no other`,
      async () => {
        const selection = { namespace: SYSTEM_NAMESPACE, labelSelector };
        const { items } = await bed.clusters[id].store.list(RUN_POD, selection);
        const versions = await Promise.all(items.filter(isReady).map(askVersion));
        expect(versions).toEqual(Array.from({ length: REPLICAS }, () => VERSIONS[release]));
        expect(items).toHaveLength(REPLICAS);
      },
      2 * LIMIT_MS,
    );
  }

  await install("hub");
  const order = ["-o", "token", "--uses", String(MEMBERS.length)];
  const ticket = await isthmus("hub", "token", ...order, "--kubeconfig", hub.kubeconfigPath);
  await Promise.all(
    MEMBERS.map(async (id) => {
      await install(id);
      await join(id, ticket.trim());
      await runs(id, "this");
    }),
  );
  return {
    mode: "agents",
    killHub: () => hub.kill(),
    reviveHub: () => hub.revive(),
    // The kubelet starts it with its other pods.
    reviveWith: async () => {},
    async upgrade(place, release) {
      const args = ["upgrade", RELEASE, charts[release], ...WHERE, ...WAIT];
      await helms[place].run(args, valuesOf(place));
    },
    async rollBack(place) {
      await helms[place].run(["rollback", RELEASE, ...WHERE, ...WAIT]);
    },
    async remove(id) {
      const { store, kubeconfigPath } = bed.clusters[id];
      await stopAgents(store);
      const left = await isthmus("leave", "--kubeconfig", kubeconfigPath);
      const uninstalled = await helms[id].run(["uninstall", RELEASE, ...WHERE, ...WAIT]);
      return { left, uninstalled };
    },
    runs,
    async stop() {
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
      await Promise.all(Object.values(helms).map((helm) => helm.close()));
    },
  };
}

/** The bed's DNS needs them before there is a chart. Nothing of their kinds is stored yet. */
async function removeDefinitions(store: KubeClient): Promise<void> {
  for (const { metadata } of MEMBER_CRDS) {
    const ref = { name: metadata.name ?? "" };
    await store.delete(CUSTOM_RESOURCE_DEFINITION, ref);
    await eventually(
      `${ref.name} is gone`,
      async () => expect(await store.get(CUSTOM_RESOURCE_DEFINITION, ref)).toBeUndefined(),
      LIMIT_MS,
    );
  }
}

/** As `kubectl scale --replicas 0` does. */
async function stopAgents(store: KubeClient): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${SYSTEM_NAMESPACE}/deployments/${AGENT_NAME}/scale`;
  const { status } = await store.request("PATCH", path, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec: { replicas: 0 } },
  });
  if (status !== 200) throw new Error(`The agents were not scaled: status ${status}.`);
}

/** By its own word. */
async function askVersion({ status }: RunPod): Promise<string | undefined> {
  const { body } = await request(`http://${status?.podIP}:${METRICS_PORT}/metrics`);
  return /^isthmus_build_info\{version="([^"]+)"\} 1$/mu.exec(await body.text())?.[1];
}
