// Backends, as what their users write: a node and a few wishes in, a Deployment or a StatefulSet out. Pure.

import type { NodePlan } from "./podnetwork.ts";
import type { Workload } from "./workload.ts";

export interface BackendOptions {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** How long it goes on serving after SIGTERM; 0: it ends on the spot. 4000 when absent. */
  readonly drainMs?: number;
  /** How long in all as long as somebody asks; as `drainMs` when absent. */
  readonly drainAtMostMs?: number;
  /** Whether it says that it is ready meanwhile. */
  readonly staysReady?: boolean;
}

interface Place {
  readonly plan: NodePlan;
}

const DRAIN_MS = 4000;
/** Longer than it drains and lingers: being killed is not a way to drain. */
const GRACE_SECONDS = 70;

/** Pods labelled `app: <name>` on the cluster's node. A new one is ready before an old one goes. */
export function renderBackends(place: Place, options: BackendOptions): Workload {
  const { namespace, name, replicas } = options;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: renderTemplate(place, options),
    },
  };
}

/** The same as a StatefulSet behind the headless Service `serviceName`. */
export function renderStatefulBackends(
  place: Place,
  options: BackendOptions & { readonly serviceName: string },
): Workload {
  const { namespace, name, replicas, serviceName } = options;
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name },
    spec: {
      replicas,
      serviceName,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: { app: name } },
      template: renderTemplate(place, options),
    },
  };
}

function renderTemplate({ plan }: Place, options: BackendOptions) {
  const { name, drainMs = DRAIN_MS, drainAtMostMs = drainMs, staysReady = false } = options;
  const env = [
    { name: "DRAIN_MS", value: String(drainMs) },
    { name: "DRAIN_AT_MOST_MS", value: String(drainAtMostMs) },
    { name: "STAYS_READY", value: String(staysReady) },
  ];
  return {
    metadata: { labels: { app: name } },
    spec: {
      nodeName: plan.name,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [{ name: "backend", image: "backend", env }],
    },
  };
}
