// Traffic, the test's end: a caller's orders in, a Pod that never stops asking and its counts out.

import { setTimeout as pause } from "node:timers/promises";
import { type Pod, POD } from "../../src/api/builtin.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { eventually } from "../scenarios/poll.ts";
import { RUN_POD, type RunPod } from "./pod.ts";
import type { NodePlan } from "./podnetwork.ts";
import { type CallerOrders, PORTS, READY_PORT } from "./programs/ports.ts";
import type { Family, FlowProtocol, Tally } from "./programs/tally.ts";
import { requireSound, summarize } from "./tallies.ts";
import { fetchTally } from "./tallyclient.ts";

/** Of a cluster of the bed, what traffic needs. */
export interface TrafficCluster {
  readonly plan: NodePlan;
  readonly store: KubeClient;
}

export interface CallerOptions {
  readonly namespace: string;
  /** Of the caller's Pod. */
  readonly name: string;
  /** The DNS name to ask for, as in "web.shop.svc.clusterset.local". */
  readonly target: string;
  /** Ports of the Service; 7000, 7001 and 8080 when absent. */
  readonly ports?: Partial<Readonly<Record<FlowProtocol, number>>>;
  /** All when absent. */
  readonly protocols?: readonly FlowProtocol[];
  /** Name servers instead of the cluster's DNS service. */
  readonly dns?: Partial<Readonly<Record<Family, string>>>;
  /** From the beginning of one request to that of the next; 100 when absent. */
  readonly everyMs?: number;
}

export interface Caller {
  /** "cluster/pod". */
  readonly name: string;
  /** Rejects when the caller is not the process that it was: its counts are lost, and nothing may be said of them. */
  tally(): Promise<Tally>;
  /** Begins a new window; answers the one that this ends. Between the two not a request is lost or counted twice. */
  mark(): Promise<Tally>;
  /** The first tally of which this is true. Rejects with the last one in words when that takes too long. */
  until(
    what: string,
    isTrue: (tally: Tally) => boolean,
    options?: { readonly limitMs?: number },
  ): Promise<Tally>;
  /** Deletes the Pod and waits until it is gone. Answers the last window. */
  stop(): Promise<Tally>;
}

const LIMIT_MS = 60_000;
const POLL_MS = 100;
const CALLER_GRACE_SECONDS = 5;

/** Resolves when the caller's Pod is ready: it asks from then on, whether the name exists or not. */
export async function startCaller(
  cluster: TrafficCluster,
  options: CallerOptions,
): Promise<Caller> {
  const { plan, store } = cluster;
  const { namespace } = options;
  const name = `${plan.name}/${options.name}`;
  await store.create(RUN_POD, renderCaller(plan, options));
  const address = await waitForReady(cluster, { namespace, name: options.name });
  const ask = (wish: "GET /tally" | "POST /mark"): Promise<Tally> =>
    fetchTally({ caller: name, address, port: READY_PORT, wish });
  const { caller: id } = await ask("GET /tally");
  let marks = 0;

  async function askTheSame(wish: "GET /tally" | "POST /mark"): Promise<Tally> {
    const tally = await ask(wish);
    if (tally.caller !== id) {
      throw new Error(`${name} was started anew, and what it had counted is lost.`);
    }
    requireSound(name, tally, marks);
    if (wish === "POST /mark") marks += 1;
    return tally;
  }

  return {
    name,
    tally: () => askTheSame("GET /tally"),
    mark: () => askTheSame("POST /mark"),
    async until(what, isTrue, { limitMs = LIMIT_MS } = {}) {
      const giveUpAt = performance.now() + limitMs;
      for (;;) {
        const tally = await askTheSame("GET /tally");
        if (isTrue(tally)) return tally;
        if (performance.now() > giveUpAt) {
          throw new Error(
            `${name}: not within ${limitMs / 1000} s: ${what}\n${summarize(tally).join("\n")}`,
          );
        }
        await pause(POLL_MS);
      }
    },
    async stop() {
      try {
        return await askTheSame("POST /mark");
      } finally {
        await endPod(cluster, { namespace, name: options.name });
      }
    },
  };
}

function renderCaller(plan: NodePlan, options: CallerOptions): RunPod {
  const orders: CallerOrders = {
    target: options.target,
    ports: { ...PORTS, ...options.ports },
    protocols: options.protocols ?? ["tcp", "udp", "http"],
    dns: { 4: options.dns?.[4] ?? plan.dns4, 6: options.dns?.[6] ?? plan.dns6 },
    everyMs: options.everyMs ?? 100,
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: options.namespace, name: options.name, labels: { app: "caller" } },
    spec: {
      nodeName: plan.name,
      // One that died has lost its counts; another in its place would only hide that.
      restartPolicy: "Never",
      terminationGracePeriodSeconds: CALLER_GRACE_SECONDS,
      containers: [
        {
          name: "caller",
          image: "caller",
          env: [{ name: "CALLER", value: JSON.stringify(orders) }],
        },
      ],
    },
  };
}

interface PodRef {
  readonly namespace: string;
  readonly name: string;
}

/** The Pod's IPv4 address. */
function waitForReady({ store }: TrafficCluster, ref: PodRef): Promise<string> {
  return eventually(
    `Pod ${ref.name} is ready`,
    async () => {
      const pod: Pod | undefined = await store.get(POD, ref);
      const conditions = pod?.status?.conditions ?? [];
      const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
      if (isReady && pod?.status?.podIP !== undefined) return pod.status.podIP;
      throw new Error("It is not; the kubelet's log may say why.");
    },
    LIMIT_MS,
  );
}

async function endPod({ store }: TrafficCluster, ref: PodRef): Promise<void> {
  await store.delete(POD, ref);
  await eventually(
    `Pod ${ref.name} is gone`,
    async () => {
      if ((await store.get(POD, ref)) === undefined) return;
      throw new Error("It is there; the kubelet's log may say why.");
    },
    LIMIT_MS,
  );
}
