// What a node has of its Pods: Pods in, wired namespaces with a process in each out. Does what it is told to; when is for the
// kubelet to say. A slot is changed by one handler at a time, the one of its key, and by the end of its process.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock as clock } from "../../src/kube/clock.ts";
import type { Image, Images } from "./images.ts";
import { renderEnvironment, requireContainer, type RunPod } from "./pod.ts";
import {
  addressesOf,
  createNumbers,
  namespaceOf,
  type NodePlan,
  unwirePod,
  wirePod,
} from "./podnetwork.ts";
import { type PodProcess, startPodProcess } from "./podprocess.ts";
import { type Volumes, withVolumes } from "./podvolumes.ts";

export interface Slot {
  readonly uid: string;
  readonly number: number;
  /** Undefined while it does not run. */
  process: PodProcess | undefined;
  isProbedReady: boolean;
  /** Of probes that are asked all the time: how often in a row the answer was no, and when to ask again. */
  readonly rounds: Record<"readinessProbe" | "livenessProbe", Round>;
  restarts: number;
  /** Of the next start, in monotonic time. */
  notBeforeMs: number;
  /** It will not be started again. */
  ended: { readonly exitCode: number } | undefined;
  /** When it was asked to end. */
  endingSinceMs: number | undefined;
  /** What the API server was told last. */
  told: string | undefined;
}

export interface Round {
  misses: number;
  /** In monotonic time. */
  dueMs: number;
}

export interface Slots {
  get(key: string): Slot | undefined;
  keys(): IterableIterator<string>;
  /** Wired, with addresses that nobody had lately. */
  take(key: string, pod: RunPod): Promise<Slot>;
  start(key: string, pod: RunPod): Promise<void>;
  /** Its process is killed, its namespace removed. */
  remove(key: string): Promise<void>;
  /** Every process, on the spot; resolves when they have ended. */
  kill(): Promise<void>;
}

const RESTART_MS = 500;
const MAX_DOUBLINGS = 4;

export function createSlots(options: {
  readonly plan: NodePlan;
  readonly images: Images;
  readonly logsPath: string;
  /** For what pods mount. */
  readonly folder: string;
  readonly fillVolumes: (pod: RunPod, folder: string) => Promise<Volumes>;
  /** A process ended, asked to or not. */
  readonly onEnd: (key: string, exitCode: number) => void;
}): Slots {
  const { plan, images, logsPath, onEnd } = options;
  const folderOf = (uid: string): string => join(options.folder, "pods", uid);
  const slots = new Map<string, Slot>();
  const numbers = createNumbers();
  const inUse = new Set<number>();

  function requireSlot(key: string): Slot {
    const slot = slots.get(key);
    if (slot === undefined) throw new Error(`There is no pod ${key} on ${plan.name}.`);
    return slot;
  }

  async function awaitEnd(key: string, pod: RunPod, process: PodProcess): Promise<void> {
    const slot = requireSlot(key);
    const exitCode = await process.ended;
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
    onEnd(key, exitCode);
  }

  return {
    get: (key) => slots.get(key),
    keys: () => slots.keys(),
    async take(key, pod) {
      const known = slots.get(key);
      if (known !== undefined) return known;
      // Taken for good when wiring fails: half a wiring cannot be mended, another number can be tried.
      const number = numbers.next((one) => inUse.has(one));
      inUse.add(number);
      await wirePod(plan, number);
      const slot: Slot = {
        uid: pod.metadata.uid ?? "",
        number,
        process: undefined,
        isProbedReady: false,
        rounds: { readinessProbe: firstRound(), livenessProbe: firstRound() },
        restarts: 0,
        notBeforeMs: 0,
        ended: undefined,
        endingSinceMs: undefined,
        told: undefined,
      };
      slots.set(key, slot);
      return slot;
    },
    async start(key, pod) {
      const slot = requireSlot(key);
      const container = requireContainer(pod);
      const image = requireImage(images, pod);
      const command = [...image.command, ...(container.args ?? [])];
      const volumes =
        image.hasVolumes === true ? await options.fillVolumes(pod, folderOf(slot.uid)) : undefined;
      const { namespace, name } = pod.metadata;
      const process = startPodProcess({
        namespace: namespaceOf(plan, slot.number),
        command: volumes === undefined ? command : withVolumes(volumes, command),
        env: renderEnvironment(pod, plan, addressesOf(plan, slot.number)),
        logPath: join(logsPath, `${namespace}.${name}.${container.name}.log`),
        nowMs: clock.now(),
      });
      slot.process = process;
      for (const round of Object.values(slot.rounds)) Object.assign(round, firstRound());
      void awaitEnd(key, pod, process);
    },
    async remove(key) {
      const slot = requireSlot(key);
      const { process, number } = slot;
      process?.signal("SIGKILL");
      await process?.ended;
      await unwirePod(plan, number);
      await rm(folderOf(slot.uid), { recursive: true, force: true });
      slots.delete(key);
      inUse.delete(number);
    },
    async kill() {
      const processes = [...slots.values()].flatMap(({ process }) => process ?? []);
      for (const process of processes) process.signal("SIGKILL");
      await Promise.all(processes.map(({ ended }) => ended));
    },
  };
}

function firstRound(): Round {
  return { misses: 0, dueMs: 0 };
}

export function requireImage(images: Images, pod: RunPod): Image {
  const { image: name = "" } = requireContainer(pod);
  const image = images.get(name);
  if (image !== undefined) return image;
  throw new Error(`There is no image ${name}; there are ${[...images.keys()].join(", ")}.`);
}
