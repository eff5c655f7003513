// Demo: plays the kubelet of one cluster. Pods in, a tiny HTTP server on an address of its own for each of them out, and a status
// that says so. Real clusters have a real kubelet: nothing outside the demo uses this.

import { createServer, type Server } from "node:http";
import { type Pod, POD } from "../../api/builtin.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { isStoreError, type Store } from "../../ports/store.ts";
import { logInformerError } from "../../runtime/complaint.ts";
import { createInformer } from "../../runtime/informer.ts";
import { createQueue } from "../../runtime/queue.ts";
import { closeServer, type Network, type Ranges } from "./network.ts";

export interface KubeletOptions {
  readonly cluster: string;
  readonly store: Store;
  readonly network: Network;
  readonly ranges: Ranges;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Kubelet {
  /** Every pod that there is answers. */
  isSettled(): boolean;
  /** Every pod falls silent. What is written of them stays, as when a machine loses its power. */
  stop(): Promise<void>;
}

interface RunningPod {
  readonly uid: string | undefined;
  readonly ip: string;
  readonly server: Server;
}

const MOST_PODS = 200;
const BACKOFF = { baseMs: 50, capMs: 1_000 };

export function startKubelet(options: KubeletOptions): Kubelet {
  const { cluster, store, network, ranges, clock, random, log } = options;
  const running = new Map<string, RunningPod>();

  const pods = createInformer<Pod>({
    store,
    clock,
    random,
    resource: POD,
    onChange: (key) => queue.add(key),
    onError: (error) => logInformerError({ log, message: "pods cannot be read" }, POD, error),
    retryCapMs: 1_000,
  });
  const queue = createQueue({
    clock,
    random,
    // One at a time: two that start together must not take the same address.
    workers: 1,
    backoff: BACKOFF,
    keys: () => new Set([...pods.keys(), ...running.keys()]),
    handler: async (key) => {
      await look(key);
      return "done";
    },
    onFailure: ({ key, error }) => log.warn("pod cannot be run", { key, error }),
    onOverflow: ({ key }) => log.error("there are too many pods", { key }),
  });
  queue.start();

  async function look(key: string): Promise<void> {
    const pod = pods.get(key);
    const isWanted = pod !== undefined && pod.metadata.deletionTimestamp === undefined;
    const before = running.get(key);
    if (before !== undefined && (!isWanted || before.uid !== pod.metadata.uid)) {
      running.delete(key);
      await stopServing(before.server);
    }
    if (!isWanted) return;
    const { ip } = running.get(key) ?? (await run(key, pod));
    if (pod.status?.phase !== "Running" || pod.status.podIP !== ip) await report(pod, ip);
  }

  async function run(key: string, pod: Pod): Promise<RunningPod> {
    const name = pod.metadata.name ?? "";
    const ip = pod.status?.podIP ?? findAddress();
    const server = createServer((_, response) => {
      // The whole of what a pod of the demo can do.
      response.setHeader("connection", "close");
      response.end(`${name} in ${cluster}\n`);
    });
    await network.listen(server, { host: ip, port: network.port });
    const started = { uid: pod.metadata.uid, ip, server };
    running.set(key, started);
    return started;
  }

  function findAddress(): string {
    const written = pods.list().flatMap((pod) => pod.status?.podIP ?? []);
    const taken = new Set([...written, ...[...running.values()].map(({ ip }) => ip)]);
    for (let nth = 1; nth <= MOST_PODS; nth++) {
      const address = ranges.podAddress(nth);
      if (!taken.has(address)) return address;
    }
    throw new Error(`the demo runs at most ${MOST_PODS} pods in a cluster`);
  }

  async function report(pod: Pod, ip: string): Promise<void> {
    const state = { ready: true, restartCount: 0, imageID: "", state: { running: {} } };
    const status = {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = "" }) => ({
        name,
        image,
        ...state,
      })),
    };
    try {
      await store.replace(POD, { ...pod, status }, { subresource: "status" });
    } catch (error) {
      // It changed or went meanwhile: the informer tells.
      if (!isStoreError(error, "NotFound", "Conflict")) throw error;
    }
  }

  return {
    isSettled() {
      const { waiting, delayed, running } = queue.snapshot();
      return pods.isSynced() && waiting + delayed + running === 0;
    },
    async stop() {
      await pods.stop();
      await queue.stop();
      await Promise.all([...running.values()].map(({ server }) => stopServing(server)));
      running.clear();
    },
  };
}

function stopServing(server: Server): Promise<void> {
  server.closeAllConnections();
  return closeServer(server);
}
