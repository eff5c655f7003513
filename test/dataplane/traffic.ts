// Traffic, the test's end: a caller's orders in, a Pod that never stops asking and its counts out.

import type { KubeClient } from "../../src/kube/client.ts";
import type { NodePlan } from "./podnetwork.ts";
import type { Family, FlowProtocol, Tally } from "./programs/tally.ts";

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
  /** Both when absent. */
  readonly families?: readonly Family[];
  /** Name servers instead of the cluster's DNS service. */
  readonly dns?: Partial<Readonly<Record<Family, string>>>;
  /** From the beginning of one request to that of the next; 100 when absent. */
  readonly everyMs?: number;
  /** Of a whole request, with the question for its name; 1000 when absent. */
  readonly timeoutMs?: number;
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

/** Resolves when the caller's Pod is ready: it asks from then on, whether the name exists or not. */
export async function startCaller(
  _cluster: TrafficCluster,
  _options: CallerOptions,
): Promise<Caller> {
  throw new Error("The caller is not there yet.");
}

export interface BackendOptions {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Extra labels of the Pods besides `app: <name>`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** All when absent. */
  readonly protocols?: readonly FlowProtocol[];
  /** How long it goes on serving after SIGTERM; 0: it ends on the spot. 4000 when absent. */
  readonly drainMs?: number;
}

/** The manifest of a Deployment of backends on the cluster's node; `apps/v1`, Pods labelled `app: <name>`. */
export function renderBackends(_cluster: TrafficCluster, _options: BackendOptions): object {
  throw new Error("The backends are not there yet.");
}

/** The same as a StatefulSet behind the headless Service `serviceName`. */
export function renderStatefulBackends(
  _cluster: TrafficCluster,
  _options: BackendOptions & { readonly serviceName: string },
): object {
  throw new Error("The backends are not there yet.");
}
