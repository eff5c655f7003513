// What a kubelet tells of a Pod and of its Node: facts in, the status of the object out. Pure; times that have not changed stay.

import type { KubeObject } from "../../src/api/object.ts";
import { REGION_LABEL, ZONE_LABEL } from "../../src/core/topology.ts";
import { formatTime } from "../../src/ports/clock.ts";
import { isWantedReady, requireContainer, type RunPod } from "./pod.ts";
import type { NodePlan, PodAddresses } from "./podnetwork.ts";

export interface PodFacts {
  readonly addresses: PodAddresses;
  /** Undefined while it does not run. */
  readonly runningSinceMs?: number;
  readonly isProbedReady: boolean;
  readonly restarts: number;
  /** It has ended and will not be started again. */
  readonly ended?: { readonly exitCode: number };
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

export function renderPodStatus(pod: RunPod, plan: NodePlan, facts: PodFacts, nowMs: number) {
  const { addresses, runningSinceMs, ended } = facts;
  const container = requireContainer(pod);
  const isRunning = runningSinceMs !== undefined;
  const isReady = isRunning && facts.isProbedReady && isWantedReady(pod);
  const now = formatTime(nowMs);
  const before: readonly PodCondition[] = pod.status?.conditions ?? [];
  const condition = (type: string, isTrue: boolean): PodCondition => {
    const status = isTrue ? "True" : "False";
    const old = before.find((one) => one.type === type && one.status === status);
    return { type, status, lastTransitionTime: old?.lastTransitionTime ?? now };
  };
  const phase = ended === undefined ? "Running" : ended.exitCode === 0 ? "Succeeded" : "Failed";
  return {
    phase,
    hostIP: plan.address4,
    hostIPs: [{ ip: plan.address4 }, { ip: plan.address6 }],
    podIP: addresses[4],
    podIPs: [{ ip: addresses[4] }, { ip: addresses[6] }],
    startTime: pod.metadata.creationTimestamp ?? now,
    conditions: [
      condition("PodScheduled", true),
      condition("Initialized", true),
      condition("ContainersReady", isReady),
      condition("Ready", isReady),
    ],
    containerStatuses: [
      {
        name: container.name,
        image: container.image ?? "",
        imageID: "",
        ready: isReady,
        started: isRunning,
        restartCount: facts.restarts,
        state: isRunning
          ? { running: { startedAt: formatTime(runningSinceMs) } }
          : ended === undefined
            ? { waiting: { reason: "CrashLoopBackOff" } }
            : { terminated: { exitCode: ended.exitCode } },
      },
    ],
  };
}

/** All but its status; the zone only when it is told. */
export function renderNode(plan: NodePlan, { hasZone }: { readonly hasZone: boolean }) {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: plan.name,
      labels: {
        "kubernetes.io/hostname": plan.name,
        "kubernetes.io/os": "linux",
        [REGION_LABEL]: plan.region,
        ...(hasZone ? { [ZONE_LABEL]: plan.zone } : {}),
      },
    },
    spec: { podCIDR: plan.pods4, podCIDRs: [plan.pods4, plan.pods6] },
  } satisfies KubeObject & { readonly spec: object };
}

/** Zone hints are shared out by the processors of ready nodes. */
export function renderNodeStatus(plan: NodePlan, nowMs: number) {
  const now = formatTime(nowMs);
  const room = { cpu: "4", memory: "8Gi", pods: "250" };
  return {
    addresses: [
      { type: "InternalIP", address: plan.address4 },
      { type: "InternalIP", address: plan.address6 },
      { type: "Hostname", address: plan.name },
    ],
    capacity: room,
    allocatable: room,
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: "It runs pods.",
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      },
    ],
  };
}
