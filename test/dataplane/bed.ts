// Data-plane bed: a kube-proxy mode in, three clusters with nodes, pods and names on one network out, and a hub when one is
// needed. Only inside the namespaces that `npm run test:dataplane` makes; all of it is gone after stop, or when they end.

import { bundle } from "../../tools/build.ts";
import { requireCoreDns } from "../controlplane/binaries.ts";
import { makeLogsFolder } from "../controlplane/cluster.ts";
import { startDaemons } from "../controlplane/daemons.ts";
import { COREDNS_IMAGE } from "../dns/kubeadm.ts";
import { createCommand, type Isthmus } from "../faults/command.ts";
import { type BedCluster, type BedControl, startControl, startMember } from "./cluster.ts";
import { startFabric } from "./fabric.ts";
import { bundlePrograms, type Images } from "./images.ts";
import type { ProxyMode } from "./kubeproxy.ts";
import { type NodeProgram, type Program, startProgram } from "./node.ts";
import { MEMBERS, type MemberName, planCluster } from "./plan.ts";
import { renderReleaseImages } from "./releases.ts";

/** Of its plugin of that name, which kubeadm's Corefile has. */
const COREDNS_READY = { port: 8181, path: "/ready" };

export type { BedCluster, BedControl } from "./cluster.ts";
export type { ProxyMode } from "./kubeproxy.ts";

export interface Bed {
  readonly proxy: ProxyMode;
  readonly clusters: Readonly<Record<MemberName, BedCluster>>;
  readonly hub?: BedControl;
  /** The bundled command, for `node <isthmusPath> agent …`. */
  readonly isthmusPath: string;
  /** Runs the bundled command in the fabric, to its end. */
  readonly isthmus: Isthmus;
  /** For files of the bed's users; goes with the bed. */
  readonly folder: string;
  /** In the fabric itself, where no cluster's death reaches it. */
  runInFabric(program: Program): Promise<NodeProgram>;
  stop(): Promise<void>;
}

export interface BedOptions {
  readonly proxy: ProxyMode;
  readonly isHubNeeded: boolean;
}

/** All at once: how long it takes is how much the machine has to do, not how long anybody waits. */
export async function startBed({ proxy, isHubNeeded }: BedOptions): Promise<Bed> {
  const beganAt = performance.now();
  const plans = MEMBERS.map(planCluster);
  const hubPlans = isHubNeeded ? [planCluster("hub")] : [];
  const fabric = await startFabric([...hubPlans, ...plans]);
  const undo: (() => Promise<void>)[] = [() => fabric.stop()];
  try {
    const daemons = await startDaemons();
    undo.push(() => daemons.end());
    const { folder } = daemons;
    const bundled = bundle(folder);
    const images = collectImages(folder, bundled);
    const isthmus = bundled.then((path) => createCommand(path, folder));
    const hubs = hubPlans.map((plan) => startControl(plan, fabric));
    const members = plans.map((plan) => startMember({ plan, fabric, proxy, images, isthmus }));
    // Whatever came up has to go again; the first that did not is the error.
    for (const each of await Promise.allSettled([...hubs, ...members, images, isthmus])) {
      if (each.status !== "fulfilled" || !("stop" in each.value)) continue;
      const { value } = each;
      undo.push(() => value.stop());
    }
    const [hub] = await Promise.all(hubs);
    const clusters = Object.fromEntries(
      (await Promise.all(members)).map((member) => [member.plan.name, member]),
    ) as Record<MemberName, BedCluster>;
    const logsPath = makeLogsFolder(folder, "fabric");
    const seconds = ((performance.now() - beganAt) / 1000).toFixed(1);
    const who = [...hubPlans, ...plans].map(({ name }) => name).join(", ");
    process.stdout.write(`data plane: ${who} with kube-proxy ${proxy} up after ${seconds} s\n`);
    return {
      proxy,
      clusters,
      ...(hub && { hub }),
      isthmusPath: await bundled,
      isthmus: await isthmus,
      folder,
      runInFabric: (program) => startProgram(program, { daemons, logsPath }),
      stop: () => undoAll(undo),
    };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}

async function collectImages(folder: string, bundled: Promise<string>): Promise<Images> {
  const [programs, coredns, isthmus] = await Promise.all([
    bundlePrograms(folder),
    requireCoreDns(),
    bundled,
  ]);
  return new Map([
    ...programs,
    [COREDNS_IMAGE, { command: [coredns], ready: COREDNS_READY }],
    ["isthmus", { command: [process.execPath, isthmus] }],
    ...renderReleaseImages(isthmus),
  ]);
}

/** The last first; each is tried, whatever happened to the others. */
async function undoAll(undo: (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, "The bed did not go in order.");
}
