// Bench: one EndpointSlice changes in one cluster: how long until the imported slice has changed in the other, as a multiple
// of two floors: making the same writes (the exporting cluster imports its own service, too), and making only the one that
// is waited for. All three run at the same time in processes of their own and take turns; a change counts from the server's
// answer to it until a watch in the other cluster shows its address.

import { setTimeout as pause } from "node:timers/promises";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { watchArrival } from "./arrival.ts";
import { type Child, startChild } from "./child.ts";
import type { FloorTask } from "./floor.ts";
import { percentileOf } from "./measure.ts";
import { FLOOR_SPACES, type Pair, SPACE, withPair } from "./pair.ts";
import { addressOf, createExports, createServices, forEach, renderSource } from "./source.ts";
import { type BenchOptions, type BenchResult, compareRounds } from "./table.ts";

const SERVICES = 100;
const GOAL = 1.5;
/** What a change leaves to do (our import in its own cluster, watches that bring it back) must not fall into the next one. */
const QUIET_MS = 30;
const TIMEOUT_MS = 30_000;

/** Times by namespace, and so by who was measured. */
type Round = Readonly<Record<(typeof SPACES)[number], readonly number[]>>;

const [SAME_SPACE, ONE_SPACE] = FLOOR_SPACES;
const SPACES = [SPACE, SAME_SPACE, ONE_SPACE] as const;

interface Sight {
  /** Resolves to the time when the address was seen in an imported slice of that namespace. */
  seen(namespace: string, address: string): Promise<number>;
  stop(): Promise<void>;
}

export function runChangeBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const changes = quick ? 50 : 200;
  return withPair(async (pair) => {
    const sight = await watchSlices(pair.b);
    const children: Child[] = [];
    try {
      const isthmus = await startChild("./isthmus.ts", pair.access);
      children.push(isthmus);
      await bringIntoStep(pair, isthmus);
      const floor = await startChild("./floor.ts", pair.access);
      children.push(floor);
      await letFollow(pair, floor);
      let change = 0;
      /** They take turns, and turns about who is first. */
      const measureRound = async (count: number): Promise<Round> => {
        const times = { [SPACE]: [], [SAME_SPACE]: [], [ONE_SPACE]: [] } as Record<
          (typeof SPACES)[number],
          number[]
        >;
        for (let turn = 0; turn < count * SPACES.length; turn++) {
          const lap = Math.floor(turn / SPACES.length);
          const namespace = SPACES[(turn + lap) % SPACES.length] ?? SPACE;
          const time = await measureChange(pair, sight, { namespace, change: ++change });
          times[namespace].push(time);
        }
        return times;
      };
      // Warms up both sides.
      await measureRound(20);
      const results: Round[] = [];
      for (let round = 0; round < rounds; round++) results.push(await measureRound(changes));
      return { title: titleOf(changes), rows: rowsOf(results) };
    } finally {
      await Promise.all(children.map((child) => child.stop()));
      await sight.stop();
    }
  });
}

function titleOf(changes: number): string {
  return `change: one EndpointSlice changed until its import in the other cluster has (${changes} changes a round, ${SERVICES} services) ÷ only the writes`;
}

/** All services are imported before it counts. */
async function bringIntoStep(pair: Pair, isthmus: Child): Promise<void> {
  await createServices(pair.a, SERVICES);
  await createExports(pair.a, SERVICES);
  const arrival = await watchArrival(pair, SERVICES);
  try {
    await isthmus.ask("start");
    await isthmus.unlessDead(arrival.complete);
  } finally {
    await arrival.stop();
  }
}

async function letFollow({ a }: Pair, floor: Child): Promise<void> {
  for (const space of FLOOR_SPACES) {
    await forEach(SERVICES, (index) => a.create(ENDPOINT_SLICE, renderSource(space, index)));
  }
  await floor.ask("follow" satisfies FloorTask);
}

async function measureChange(
  { a }: Pair,
  sight: Sight,
  what: { readonly namespace: string; readonly change: number },
): Promise<number> {
  const { namespace, change } = what;
  const seen = sight.seen(namespace, addressOf(change));
  await a.replace(ENDPOINT_SLICE, renderSource(namespace, change % SERVICES, change));
  const writtenMs = performance.now();
  const took = (await seen) - writtenMs;
  await pause(QUIET_MS);
  return took;
}

async function watchSlices(client: KubeClient): Promise<Sight> {
  const stopping = new AbortController();
  const scope = { labelSelector: SOURCE_CLUSTER_LABEL };
  const { resourceVersion } = await client.list(ENDPOINT_SLICE, { ...scope, limit: 1 });
  const awaited = new Map<string, (atMs: number) => void>();
  const ended = client.watch(
    ENDPOINT_SLICE,
    { ...scope, resourceVersion, signal: stopping.signal },
    (event) => {
      if (event.type === "BOOKMARK") return;
      const { metadata, endpoints } = event.object;
      awaited.get(`${metadata.namespace} ${endpoints[0]?.addresses[0]}`)?.(performance.now());
    },
  );
  return {
    seen(namespace, address) {
      return new Promise((resolve, reject) => {
        const key = `${namespace} ${address}`;
        const timer = setTimeout(() => {
          reject(new Error(`the change to ${address} in ${namespace} never arrived`));
        }, TIMEOUT_MS);
        awaited.set(key, (atMs) => {
          clearTimeout(timer);
          awaited.delete(key);
          resolve(atMs);
        });
      });
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

function rowsOf(rounds: readonly Round[]) {
  const row = (percent: number, floor: (typeof FLOOR_SPACES)[number], goal?: number) =>
    compareRounds(rounds, {
      name: `p${percent} ÷ ${floor === SAME_SPACE ? "the same writes" : "the one write waited for"}`,
      unit: "ms",
      ours: (round) => percentileOf(round[SPACE], percent),
      floor: (round) => percentileOf(round[floor], percent),
      ...(goal !== undefined && { goal }),
    });
  return [row(50, SAME_SPACE, GOAL), row(99, SAME_SPACE), row(50, ONE_SPACE), row(99, ONE_SPACE)];
}
