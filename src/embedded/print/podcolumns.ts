// Printing: a Pod in, the cells of its `kubectl get` table out. The status of a Pod is a summary of its containers.

import { renderAge, renderDuration } from "./age.ts";
import type { Column } from "../types.ts";

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}
interface ContainerState {
  readonly waiting?: { readonly reason?: string };
  readonly running?: object;
  readonly terminated?: {
    readonly reason?: string;
    readonly exitCode?: number;
    readonly signal?: number;
    readonly finishedAt?: string;
  };
}
interface PrintedPod {
  readonly metadata: { readonly creationTimestamp?: string; readonly deletionTimestamp?: string };
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly object[];
    readonly initContainers?: readonly { readonly name: string; readonly restartPolicy?: string }[];
    readonly readinessGates?: readonly { readonly conditionType: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly nominatedNodeName?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

interface Summary {
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
}

export const POD_COLUMNS: readonly Column[] = [
  column("Ready", (pod, nowMs) => summarize(pod, nowMs).ready),
  column("Status", (pod, nowMs) => summarize(pod, nowMs).status),
  column("Restarts", (pod, nowMs) => summarize(pod, nowMs).restarts),
  column("Age", (pod, nowMs) => renderAge(pod.metadata.creationTimestamp, nowMs)),
  wide("IP", (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP),
  wide("Node", (pod) => pod.spec?.nodeName),
  wide("Nominated Node", (pod) => pod.status?.nominatedNodeName),
  wide("Readiness Gates", renderGates),
];

function column(name: string, read: (pod: PrintedPod, nowMs: number) => string): Column {
  return {
    name,
    type: "string",
    // Validated on the way in: what is stored as a Pod has a Pod's shape.
    cell: (object, nowMs) => read(object, nowMs),
  };
}

function wide(name: string, read: (pod: PrintedPod) => string | undefined): Column {
  return { ...column(name, (pod) => read(pod) || "<none>"), priority: 1 };
}

function renderGates(pod: PrintedPod): string | undefined {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return undefined;
  const met = gates.filter((gate) => hasCondition(pod, gate.conditionType));
  return `${met.length}/${gates.length}`;
}

function hasCondition(pod: PrintedPod, type: string): boolean {
  return (pod.status?.conditions ?? []).some((c) => c.type === type && c.status === "True");
}

function summarize(pod: PrintedPod, nowMs: number): Summary {
  const sidecars = new Set(
    (pod.spec?.initContainers ?? [])
      .filter((container) => container.restartPolicy === "Always")
      .map((container) => container.name),
  );
  const initStatuses = pod.status?.initContainerStatuses ?? [];
  const sidecarStatuses = initStatuses.filter((status) => sidecars.has(status.name));
  const initializing = summarizeInit(pod, sidecars);
  const running =
    initializing === undefined || hasCondition(pod, "Initialized")
      ? [...(pod.status?.containerStatuses ?? []), ...sidecarStatuses]
      : sidecarStatuses;
  const counted = initializing === undefined ? running : [...initStatuses];
  const total = (pod.spec?.containers?.length ?? 0) + sidecars.size;
  const ready = running.filter((status) => status.ready === true && status.state?.running);
  let status = initializing ?? summarizeContainers(pod);
  if (pod.metadata.deletionTimestamp !== undefined) {
    status = pod.status?.reason === "NodeLost" ? "Unknown" : "Terminating";
  }
  return {
    ready: `${ready.length}/${total}`,
    status,
    restarts: renderRestarts(counted, nowMs),
  };
}

function renderRestarts(statuses: readonly ContainerStatus[], nowMs: number): string {
  const restarts = statuses.reduce((sum, status) => sum + (status.restartCount ?? 0), 0);
  const last = Math.max(
    ...statuses.map((status) => Date.parse(status.lastState?.terminated?.finishedAt ?? "") || 0),
    0,
  );
  return restarts > 0 && last > 0
    ? `${restarts} (${renderDuration(nowMs - last)} ago)`
    : String(restarts);
}

/** Undefined once every init container has done its part. */
function summarizeInit(pod: PrintedPod, sidecars: ReadonlySet<string>): string | undefined {
  const total = pod.spec?.initContainers?.length ?? 0;
  for (const [index, { name, state, started }] of (
    pod.status?.initContainerStatuses ?? []
  ).entries()) {
    if (state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(name) && started === true) continue;
    if (state?.terminated !== undefined) return `Init:${renderTermination(state.terminated)}`;
    const waiting = state?.waiting?.reason ?? "";
    if (waiting !== "" && waiting !== "PodInitializing") return `Init:${waiting}`;
    return `Init:${index}/${total}`;
  }
  return undefined;
}

function summarizeContainers(pod: PrintedPod): string {
  const gated = (pod.status?.conditions ?? []).find(
    (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated",
  );
  let status = gated?.reason ?? (pod.status?.reason || (pod.status?.phase ?? ""));
  let running = false;
  // From the last to the first, so that the first container with something to say wins.
  for (const container of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated } = container.state ?? {};
    if (waiting?.reason) status = waiting.reason;
    else if (terminated !== undefined) status = renderTermination(terminated);
    else if (container.ready === true && container.state?.running) running = true;
  }
  if (status === "Completed" && running) {
    status = hasCondition(pod, "Ready") ? "Running" : "NotReady";
  }
  return status;
}

function renderTermination(terminated: NonNullable<ContainerState["terminated"]>): string {
  if (terminated.reason) return terminated.reason;
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode ?? 0}`;
}
