// A kubelet without containers: Pods of one node in, processes in network namespaces of their own and the Pods' status out.
// Level-triggered: a key is looked at whenever its Pod or its process changed. Never schedules, never pulls, mounts nothing.
//
//   wired ─▶ running, not ready ─▶ ready ── deleted: SIGTERM ─▶ ends, or SIGKILL after its grace ─▶ unwired ─▶ object removed
//                 ▲                  │
//                 └── after a pause ◀┴─ ended by itself

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { NODE } from "../../src/api/builtin.ts";
import type { KubeObject, ObjectMeta, Resource } from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock as clock, systemRandom as random } from "../../src/kube/clock.ts";
import { createInformer, type Informer } from "../../src/runtime/informer.ts";
import { createQueue, type Outcome, type WorkQueue } from "../../src/runtime/queue.ts";
import type { Images } from "./images.ts";
import { readinessOf, renderEnvironment, requireContainer, RUN_POD, type RunPod } from "./pod.ts";
import {
  addressesOf,
  createNumbers,
  namespaceOf,
  type NodePlan,
  routePods,
  unwirePod,
  wirePod,
} from "./podnetwork.ts";
import { type PodProcess, probe, startPodProcess } from "./podprocess.ts";
import { renderNode, renderNodeStatus, renderPodStatus } from "./podstatus.ts";

export { READY_ANNOTATION } from "./pod.ts";

export interface KubeletOptions {
  readonly plan: NodePlan;
  /** With the rights of an administrator. */
  readonly client: KubeClient;
  readonly images: Images;
  /** For the pods' logs: `<namespace>.<pod>.<container>.log`, and `kubelet.log`. */
  readonly logsPath: string;
}

export interface Kubelet {
  /** A power cut: every process of its pods is killed on the spot, and nothing is told to the API server. Keeps the namespaces. */
  kill(): Promise<void>;
  /** After `kill`: the same pods at the same addresses, not ready until their processes are. Needs the API server. */
  revive(): Promise<void>;
  /** Kills the pods and removes their namespaces; tells nobody. */
  stop(): Promise<void>;
}

/** What a node has of a Pod; changed in place by the one handler of its key. */
interface Slot {
  readonly uid: string;
  readonly number: number;
  isWired: boolean;
  process: PodProcess | undefined;
  isProbedReady: boolean;
  restarts: number;
  notBeforeMs: number;
  ended: { readonly exitCode: number } | undefined;
  /** When it was asked to end. */
  endingSinceMs: number | undefined;
  /** What the API server was told last. */
  told: string | undefined;
}

const MANAGER = "kubelet";
const WORKERS = 16;
const PROBE_EVERY_MS = 100;
const RESTART_MS = 500;
const MAX_DOUBLINGS = 4;
const RETRY = { baseMs: 100, capMs: 2_000 };

/** Resolves when the Node is registered and the Pods have been listed. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { plan, client, images, logsPath } = options;
  const slots = new Map<string, Slot>();
  const numbers = createNumbers();
  let watching: { readonly informer: Informer<RunPod>; readonly queue: WorkQueue } | undefined;

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

  async function register(): Promise<void> {
    const node = renderNode(plan);
    const made = await client.apply(NODE, node, { fieldManager: MANAGER, force: true });
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

  async function removeSlot(key: string, slot: Slot): Promise<void> {
    const { process } = slot;
    process?.signal("SIGKILL");
    await process?.ended;
    if (slot.isWired) await unwirePod(plan, slot.number);
    slots.delete(key);
  }

  function takeSlot(key: string, pod: RunPod): Slot {
    const known = slots.get(key);
    if (known !== undefined) return known;
    const taken = new Set([...slots.values()].map(({ number }) => number));
    const slot: Slot = {
      uid: pod.metadata.uid ?? "",
      number: numbers.next((number) => taken.has(number)),
      isWired: false,
      process: undefined,
      isProbedReady: false,
      restarts: 0,
      notBeforeMs: 0,
      ended: undefined,
      endingSinceMs: undefined,
      told: undefined,
    };
    slots.set(key, slot);
    return slot;
  }

  function startProcess(key: string, pod: RunPod, slot: Slot): void {
    const container = requireContainer(pod);
    const image = images.get(container.image ?? "");
    if (image === undefined) {
      const known = [...images.keys()].join(", ");
      throw new Error(`There is no image ${container.image}; there are ${known}.`);
    }
    const { namespace, name } = pod.metadata;
    const process = startPodProcess({
      namespace: namespaceOf(plan, slot.number),
      command: [...image.command, ...(container.args ?? [])],
      env: renderEnvironment(pod, plan, addressesOf(plan, slot.number)),
      logPath: join(logsPath, `${namespace}.${name}.${container.name}.log`),
      nowMs: clock.now(),
    });
    slot.process = process;
    slot.isProbedReady = readinessOf(container, image) === undefined;
    void awaitEnd(key, pod, slot, process);
  }

  async function awaitEnd(
    key: string,
    pod: RunPod,
    slot: Slot,
    process: PodProcess,
  ): Promise<void> {
    const exitCode = await process.ended;
    log(`${key} ended with code ${exitCode}`);
    slot.process = undefined;
    slot.isProbedReady = false;
    const policy = pod.spec?.restartPolicy ?? "Always";
    if (policy === "Never" || (policy === "OnFailure" && exitCode === 0)) {
      slot.ended = { exitCode };
    } else {
      const pauseMs = RESTART_MS * 2 ** Math.min(slot.restarts, MAX_DOUBLINGS);
      slot.restarts += 1;
      slot.notBeforeMs = clock.monotonic() + pauseMs;
    }
    watching?.queue.add(key);
  }

  async function run(key: string, pod: RunPod, signal: AbortSignal): Promise<Outcome> {
    const slot = takeSlot(key, pod);
    if (!slot.isWired) {
      try {
        await wirePod(plan, slot.number);
        slot.isWired = true;
      } catch (error) {
        // Half a wiring cannot be mended: the next attempt is with another number.
        slots.delete(key);
        throw error;
      }
    }
    const waitMs = slot.notBeforeMs - clock.monotonic();
    if (slot.process === undefined && slot.ended === undefined && waitMs <= 0) {
      startProcess(key, pod, slot);
    }
    await tellStatus(pod, slot, signal);
    if (slot.ended !== undefined) return "done";
    if (slot.process === undefined) return { afterMs: Math.max(waitMs, 0) };
    if (slot.isProbedReady) return "done";
    const container = requireContainer(pod);
    const image = images.get(container.image ?? "");
    const readiness = image && readinessOf(container, image);
    const { process } = slot;
    const isReady =
      readiness === undefined || (await probe(addressesOf(plan, slot.number)[4], readiness));
    // Ended meanwhile: that answer was of a process that is no more.
    if (!isReady || slot.process !== process) return { afterMs: PROBE_EVERY_MS };
    slot.isProbedReady = true;
    await tellStatus(pod, slot, signal);
    return "done";
  }

  async function end(key: string, pod: RunPod, signal: AbortSignal): Promise<Outcome> {
    const slot = slots.get(key);
    if (slot?.process !== undefined) {
      if (slot.endingSinceMs === undefined) {
        slot.endingSinceMs = clock.monotonic();
        slot.process.signal("SIGTERM");
      }
      await tellStatus(pod, slot, signal);
      const graceMs = 1000 * (pod.metadata.deletionGracePeriodSeconds ?? 30);
      const leftMs = slot.endingSinceMs + graceMs - clock.monotonic();
      // Its end brings the key back.
      if (leftMs > 0) return { afterMs: leftMs };
    }
    if (slot !== undefined) await removeSlot(key, slot);
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
    if (slot !== undefined && slot.uid !== pod?.metadata.uid) await removeSlot(key, slot);
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
    const processes = [...slots.values()].flatMap(({ process }) => process ?? []);
    for (const process of processes) process.signal("SIGKILL");
    await Promise.all([informer?.stop(), queue?.stop(), ...processes.map(({ ended }) => ended)]);
    // A handler may have started one while it was told to stop.
    const late = [...slots.values()].flatMap(({ process }) => process ?? []);
    for (const process of late) process.signal("SIGKILL");
    await Promise.all(late.map(({ ended }) => ended));
    for (const slot of slots.values()) {
      slot.notBeforeMs = 0;
      slot.told = undefined;
    }
  }

  await Promise.all([register(), routePods(plan)]);
  await watch();
  return {
    kill,
    async revive() {
      await register();
      await watch();
    },
    async stop() {
      await kill();
      await Promise.all([...slots].map(([key, slot]) => removeSlot(key, slot)));
    },
  };
}
