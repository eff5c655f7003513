// A kubelet without containers: Pods of one node in, processes in network namespaces of their own and the Pods' status out.
// Level-triggered: a key is looked at whenever its Pod or its process changed. Never schedules, never pulls.
//
//   wired ─▶ running, not ready ─▶ ready ── deleted: SIGTERM ─▶ ends, or SIGKILL after its grace ─▶ unwired ─▶ object removed
//                 ▲                  │
//                 └── after a pause ◀┴─ ended by itself, or by SIGTERM when its liveness probe failed

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { NODE, type Node } from "../../src/api/builtin.ts";
import type { KubeObject, ObjectMeta, Resource } from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock as clock, systemRandom as random } from "../../src/kube/clock.ts";
import { createInformer, type Informer } from "../../src/runtime/informer.ts";
import { createQueue, type Outcome, type WorkQueue } from "../../src/runtime/queue.ts";
import type { Images } from "./images.ts";
import { readinessOf, requireContainer, roundsOf, RUN_POD, type RunPod } from "./pod.ts";
import { addressesOf, type NodePlan, routePods } from "./podnetwork.ts";
import { probe } from "./podprocess.ts";
import { createSlots, requireImage, type Slot } from "./podslots.ts";
import { renderNode, renderNodeStatus, renderPodStatus } from "./podstatus.ts";
import { fillVolumes } from "./podvolumes.ts";

export { READY_ANNOTATION } from "./pod.ts";

export interface KubeletOptions {
  readonly plan: NodePlan;
  /** With the rights of an administrator. */
  readonly client: KubeClient;
  readonly images: Images;
  /** For the pods' logs: `<namespace>.<pod>.<container>.log`, and `kubelet.log`. */
  readonly logsPath: string;
  /** For what pods mount. */
  readonly folder: string;
}

export interface Kubelet {
  /**
   * Labels the Node with its zone, as a cloud does some time after the Node was made. To be called when kube-proxy is up: that listens
   * to a Node which it has already before it says who is to be told of the zone, may miss it in between, and then never goes by zones
   * (kube-proxy 1.36: NewNodeTopologyConfig, then RegisterEventHandler). A change it does not miss.
   */
  tellZone(): Promise<void>;
  /** A power cut: every process of its pods is killed on the spot, and nothing is told to the API server. Keeps the namespaces. */
  kill(): Promise<void>;
  /** After `kill`: the same pods at the same addresses, not ready until their processes are. Needs the API server. */
  revive(): Promise<void>;
  /** Kills the pods and removes their namespaces; tells nobody. */
  stop(): Promise<void>;
}

const MANAGER = "kubelet";
const WORKERS = 16;
const PROBE_EVERY_MS = 100;
const PROBES = ["readinessProbe", "livenessProbe"] as const;
const RETRY = { baseMs: 100, capMs: 2_000 };

/** Resolves when the Node is registered and the Pods have been listed. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { plan, client, images, logsPath, folder } = options;
  let hasZone = false;
  let watching: { readonly informer: Informer<RunPod>; readonly queue: WorkQueue } | undefined;
  const slots = createSlots({
    plan,
    images,
    logsPath,
    folder,
    fillVolumes: (pod, place) => fillVolumes(client, pod, place),
    onEnd(key, exitCode) {
      log(`${key} ended with code ${exitCode}`);
      watching?.queue.add(key);
    },
  });

  function log(what: string): void {
    appendFileSync(join(logsPath, "kubelet.log"), `${new Date().toISOString()} ${what}\n`);
  }

  async function applyStatus(
    resource: Resource,
    object: KubeObject & { readonly status: object },
    signal?: AbortSignal,
  ): Promise<void> {
    const options = { fieldManager: MANAGER, force: true, subresource: "status" } as const;
    await client.apply(resource, object, { ...options, ...(signal && { signal }) });
  }

  function applyNode(): Promise<Node> {
    const node = renderNode(plan, { hasZone });
    return client.apply(NODE, node, { fieldManager: MANAGER, force: true });
  }

  async function register(): Promise<void> {
    const made = await applyNode();
    // Replaced: two addresses of one type, as of every dual-stack node, cannot be applied.
    const status = renderNodeStatus(plan, clock.now());
    await client.replace(NODE, { ...made, status } as typeof made, { subresource: "status" });
  }

  async function tellStatus(pod: RunPod, slot: Slot, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const { isProbedReady, restarts, ended } = slot;
    const runningSinceMs = slot.process?.startedAtMs;
    const facts = {
      addresses: addressesOf(plan, slot.number),
      isProbedReady,
      restarts,
      ...(ended && { ended }),
      ...(runningSinceMs !== undefined && { runningSinceMs }),
    };
    const status = renderPodStatus(pod, plan, facts, clock.now());
    // The times of conditions change with their truth only; told again, they would be those of a stale copy.
    const told = JSON.stringify(status, (key, value: unknown) =>
      key === "lastTransitionTime" ? undefined : value,
    );
    if (told === slot.told) return;
    // With its uid: a Pod of the same name that came after it is not meant.
    const { apiVersion, kind } = pod;
    const metadata = { namespace, name, uid } as ObjectMeta;
    await applyStatus(RUN_POD, { apiVersion, kind, metadata, status }, signal);
    slot.told = told;
  }

  async function run(key: string, pod: RunPod, signal: AbortSignal): Promise<Outcome> {
    const slot = await slots.take(key, pod);
    const waitMs = slot.notBeforeMs - clock.monotonic();
    if (slot.process === undefined && slot.ended === undefined && waitMs <= 0) {
      await slots.start(key, pod);
    }
    await tellStatus(pod, slot, signal);
    if (slot.ended !== undefined) return "done";
    // Its end brings the key back.
    if (slot.process === undefined) return { afterMs: Math.max(waitMs, 0) };
    const { process } = slot;
    if (!slot.isProbedReady) {
      const isReady = await isReadyNow(pod, slot);
      // Ended meanwhile: that answer was of a process that is no more.
      if (slot.process !== process) return { afterMs: PROBE_EVERY_MS };
      slot.isProbedReady = isReady;
    }
    await watchOver(key, pod, slot);
    await tellStatus(pod, slot, signal);
    return slot.isProbedReady ? nextRound(pod, slot) : { afterMs: PROBE_EVERY_MS };
  }

  /** Asks what is due, and acts when the answer was no too often. */
  async function watchOver(key: string, pod: RunPod, slot: Slot): Promise<void> {
    const { process } = slot;
    for (const kind of PROBES) {
      const rounds = roundsOf(requireContainer(pod), kind);
      const round = slot.rounds[kind];
      if (rounds === undefined || clock.monotonic() < round.dueMs) continue;
      const isWell = await probe(addressesOf(plan, slot.number)[4], rounds.probe);
      if (slot.process !== process) return;
      round.dueMs = clock.monotonic() + rounds.everyMs;
      round.misses = isWell ? 0 : round.misses + 1;
      if (round.misses < rounds.failures) continue;
      log(`${key} failed its ${kind} ${round.misses} times`);
      if (kind === "readinessProbe") slot.isProbedReady = false;
      else process?.signal(round.misses === rounds.failures ? "SIGTERM" : "SIGKILL");
    }
  }

  function nextRound(pod: RunPod, slot: Slot): Outcome {
    const container = requireContainer(pod);
    const due = PROBES.flatMap((kind) =>
      roundsOf(container, kind) === undefined ? [] : slot.rounds[kind].dueMs,
    );
    return due.length === 0
      ? "done"
      : { afterMs: Math.max(0, Math.min(...due) - clock.monotonic()) };
  }

  /** By its own word, where it can be asked. */
  async function isReadyNow(pod: RunPod, slot: Slot): Promise<boolean> {
    const readiness = readinessOf(requireContainer(pod), requireImage(images, pod));
    return readiness === undefined || probe(addressesOf(plan, slot.number)[4], readiness);
  }

  async function end(key: string, pod: RunPod, signal: AbortSignal): Promise<Outcome> {
    const slot = slots.get(key);
    if (slot?.process !== undefined) {
      if (slot.endingSinceMs === undefined) {
        slot.endingSinceMs = clock.monotonic();
        slot.process.signal("SIGTERM");
      }
      // As a kubelet does: who says that it is going, and serves on meanwhile, is spared its UDP flows by kube-proxy.
      slot.isProbedReady = slot.isProbedReady && (await isReadyNow(pod, slot));
      await tellStatus(pod, slot, signal);
      const graceMs = 1000 * (pod.metadata.deletionGracePeriodSeconds ?? 30);
      const leftMs = slot.endingSinceMs + graceMs - clock.monotonic();
      // Its end brings the key back.
      if (leftMs > 0) {
        return { afterMs: slot.isProbedReady ? Math.min(leftMs, PROBE_EVERY_MS) : leftMs };
      }
    }
    if (slot !== undefined) await slots.remove(key);
    const { namespace, name, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const body = { gracePeriodSeconds: 0, preconditions: { uid } };
    const { status } = await client.request("DELETE", path, { body, signal });
    if (status !== 200 && status !== 404 && status !== 409) {
      throw new Error(`Pod ${key} was not removed: status ${status}.`);
    }
    return "done";
  }

  async function reconcile(
    informer: Informer<RunPod>,
    key: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const pod = informer.get(key);
    const slot = slots.get(key);
    if (slot !== undefined && slot.uid !== pod?.metadata.uid) await slots.remove(key);
    if (pod === undefined) return "done";
    return pod.metadata.deletionTimestamp === undefined
      ? run(key, pod, signal)
      : end(key, pod, signal);
  }

  async function watch(): Promise<void> {
    const queue = createQueue({
      clock,
      random,
      workers: WORKERS,
      backoff: RETRY,
      handler: (key, signal) => reconcile(informer, key, signal),
      keys: () => informer.keys(),
      onFailure: ({ key, error }) => log(`${key} failed: ${String(error)}`),
      onOverflow: ({ key }) => log(`no room for ${key}`),
    });
    const informer: Informer<RunPod> = createInformer({
      store: client,
      resource: RUN_POD,
      fieldSelector: `spec.nodeName=${plan.name}`,
      clock,
      random,
      retryCapMs: RETRY.capMs,
      onChange: (key) => queue.add(key),
      onError: ({ during, error }) => log(`${during} failed: ${String(error)}`),
    });
    watching = { informer, queue };
    await informer.whenSynced();
    // Not before: a Pod that is not listed yet would pass for one that is gone.
    for (const key of slots.keys()) queue.add(key);
    queue.start();
  }

  async function kill(): Promise<void> {
    const { informer, queue } = watching ?? {};
    watching = undefined;
    await Promise.all([slots.kill(), informer?.stop(), queue?.stop()]);
    // A handler may have started one while it was told to stop.
    await slots.kill();
    for (const key of slots.keys()) {
      const slot = slots.get(key);
      if (slot !== undefined) Object.assign(slot, { notBeforeMs: 0, told: undefined });
    }
  }

  await Promise.all([register(), routePods(plan)]);
  await watch();
  return {
    async tellZone() {
      hasZone = true;
      await applyNode();
    },
    kill,
    async revive() {
      await register();
      await watch();
    },
    async stop() {
      await kill();
      await Promise.all([...slots.keys()].map((key) => slots.remove(key)));
    },
  };
}
