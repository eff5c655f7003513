// Bench: slices of cluster a change, one at a time, many a second, or all at once; how long each takes until it is seen in an
// imported slice of b. A change counts from the server's answer to it until a watch shows its address; who wrote it does not
// matter to that watch.

import { setTimeout as pause } from "node:timers/promises";
import { ENDPOINT_SLICE, type EndpointSlice } from "../src/api/builtin.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { createInformer } from "../src/runtime/informer.ts";
import { CLUSTERS, type Cluster, type Fleet } from "./fleet.ts";
import { changeOf, forEach, renderSource, serviceName, type Size } from "./source.ts";

export interface Sight {
  /** Times of so many changes, each made when nothing is left of the one before. */
  oneByOne(count: number): Promise<readonly number[]>;
  /** Times of so many changes at a steady rate, whatever becomes of those before. */
  stream(count: number, perSecond: number): Promise<readonly number[]>;
  /** The first so many services change all together, so often; the time from the first change until both clusters have the last. */
  roll(services: number, steps: number): Promise<number>;
  stop(): Promise<void>;
}

/** What a change leaves to do (the import in its own cluster, watches that bring it back) must not fall into the next one. */
const QUIET_MS = 30;
const TIMEOUT_MS = 120_000;

export async function openSight(fleet: Fleet, size: Size): Promise<Sight> {
  const eyes = { a: await watchSlices(fleet.a), b: await watchSlices(fleet.b) };
  let change = 0;

  /** Answers what to wait for: when the server had it, and when each of the clusters. */
  function alter(index: number, clusters: readonly Cluster[]) {
    change += 1;
    const awaited = { service: serviceName(index), change };
    const seen = Promise.all(clusters.map((cluster) => eyes[cluster].seen(awaited)));
    const slice = renderSource(index, size.endpoints, change);
    const written = fleet.a.replace(ENDPOINT_SLICE, slice).then(() => performance.now());
    return { written, seen };
  }

  async function timeOne(): Promise<number> {
    const { written, seen } = alter((change + 1) % size.services, ["b"]);
    const writtenMs = await written;
    const [seenMs = Number.NaN] = await seen;
    return seenMs - writtenMs;
  }

  return {
    async oneByOne(count) {
      const times: number[] = [];
      while (times.length < count) {
        times.push(await timeOne());
        await pause(QUIET_MS);
      }
      return times;
    },
    async stream(count, perSecond) {
      const startedMs = performance.now();
      const times: Promise<number>[] = [];
      for (let index = 0; index < count; index++) {
        const dueMs = startedMs + (index * 1_000) / perSecond;
        await pause(Math.max(0, dueMs - performance.now()));
        times.push(timeOne());
      }
      return Promise.all(times);
    },
    async roll(services, steps) {
      const startedMs = performance.now();
      for (let step = 1; step < steps; step++) {
        await forEach(services, (index) => alter(index, []).written);
      }
      const last: Promise<unknown>[] = [];
      await forEach(services, (index) => {
        const { written, seen } = alter(index, CLUSTERS);
        last.push(seen);
        return written;
      });
      await Promise.all(last);
      return performance.now() - startedMs;
    },
    async stop() {
      await Promise.all([eyes.a.stop(), eyes.b.stop()]);
    },
  };
}

interface Awaited {
  readonly service: string;
  readonly change: number;
}

async function watchSlices(client: KubeClient) {
  const awaited = new Map<Awaited, (atMs: number) => void>();
  // An informer: a server on a busy machine ends watches that are read too slowly.
  const slices = createInformer<EndpointSlice>({
    store: client,
    resource: ENDPOINT_SLICE,
    labelSelector: SOURCE_CLUSTER_LABEL,
    clock: systemClock,
    random: systemRandom,
    onError: () => undefined,
    onChange: (_, __, slice) => {
      if (slice === undefined) return;
      const atMs = performance.now();
      const service = slice.metadata.labels?.[SERVICE_NAME_LABEL];
      const seen = changeOf(slice.endpoints[0]?.addresses[0] ?? "");
      for (const [each, tell] of awaited) {
        if (each.service === service && each.change <= seen) tell(atMs);
      }
    },
  });
  await slices.whenSynced();
  return {
    /** Resolves to the time when the change was seen, or one that came after it to the same service. */
    seen(change: Awaited): Promise<number> {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`change ${change.change} of ${change.service} never arrived`));
        }, TIMEOUT_MS);
        awaited.set(change, (atMs) => {
          clearTimeout(timer);
          awaited.delete(change);
          resolve(atMs);
        });
      });
    },
    stop: () => slices.stop(),
  };
}
