// A scheduler for a cluster of one node: Pods that nobody has given a node in, the same Pods bound to that node out. Looks at
// nothing else of them.

import type { KubeClient } from "../../src/kube/client.ts";
import { systemClock as clock, systemRandom as random } from "../../src/kube/clock.ts";
import { createInformer } from "../../src/runtime/informer.ts";
import { createQueue, type Outcome } from "../../src/runtime/queue.ts";
import { RUN_POD, type RunPod } from "./pod.ts";

export interface Scheduler {
  stop(): Promise<void>;
}

const RETRY = { baseMs: 100, capMs: 2_000 };

export function startScheduler(client: KubeClient, node: string): Scheduler {
  const informer = createInformer<RunPod>({
    store: client,
    resource: RUN_POD,
    fieldSelector: "spec.nodeName=",
    clock,
    random,
    retryCapMs: RETRY.capMs,
    onChange: (key) => queue.add(key),
    onError: () => {},
  });

  async function bind(key: string, signal: AbortSignal): Promise<Outcome> {
    const pod = informer.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return "done";
    const { namespace, name, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { namespace, name, uid }, target };
    const { status } = await client.request("POST", path, { body, signal });
    // Gone, or bound by a request whose answer was lost.
    if (status === 201 || status === 404 || status === 409) return "done";
    throw new Error(`Pod ${key} was not bound: status ${status}.`);
  }

  const queue = createQueue({
    clock,
    random,
    backoff: RETRY,
    handler: bind,
    keys: () => informer.keys(),
    // Tried again; a Pod that never runs is what its story complains about.
    onFailure: () => {},
    onOverflow: () => {},
  });
  queue.start();
  return {
    async stop() {
      await Promise.all([informer.stop(), queue.stop()]);
    },
  };
}
