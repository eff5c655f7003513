// Demo: the dashboard of its world, open from the first step to the last; and what it shows, in a few words.

import { isProblem } from "../../api/problem.ts";
import { count, list } from "../../core/clusterset/explanation.ts";
import { type DashboardState, ROUTES, type TimelineEvent } from "../../dashboard/state.ts";
import { loadKubeconfig } from "../../kube/config.ts";
import type { CliContext } from "../context.ts";
import {
  type Dashboard,
  type DashboardOptions,
  describeSource,
  openDashboard,
} from "../dashboard.ts";
import { DEMO_LIVENESS, HEARTBEAT_MS, type World } from "./world.ts";

/** As `isthmus dashboard` has by default; any other if somebody has that one. */
const PORTS = [8181, 0] as const;

export async function openDemoDashboard(
  context: CliContext,
  { clusters }: Pick<World, "clusters">,
): Promise<Dashboard> {
  const { env, home } = context;
  const sources = Object.values(clusters).map(({ name, client, kubeconfigPath }) => {
    const config = loadKubeconfig({ paths: [kubeconfigPath], env, home });
    return describeSource(context, { name, config, client });
  });
  const options: Omit<DashboardOptions, "address"> = {
    sources,
    asksHub: false,
    mode: "isthmus demo",
    policy: DEMO_LIVENESS,
    heartbeatMs: HEARTBEAT_MS,
    onDefect: (defect) => context.error(`This is a defect, please report it: ${String(defect)}`),
  };
  const [usual, any] = PORTS;
  try {
    return await openDashboard(context, { ...options, address: `127.0.0.1:${usual}` });
  } catch (error) {
    if (!isProblem(error, "PortInUse")) throw error;
    return openDashboard(context, { ...options, address: `127.0.0.1:${any}` });
  }
}

/** As the page is told it. */
export async function readDashboard(url: string, signal: AbortSignal): Promise<DashboardState> {
  const response = await fetch(new URL(ROUTES.state, url), { signal });
  if (!response.ok) throw new Error(`the dashboard answered with ${response.status}`);
  return (await response.json()) as DashboardState;
}

/** That all live, and who exports: the page is behind what happens by a heartbeat at most. */
export function isSettled(
  { clusters, services }: DashboardState,
  wanted: { readonly key: string; readonly exporters: readonly string[] },
): boolean {
  const parts = services.find(({ key }) => key === wanted.key)?.parts ?? [];
  const exporters = parts.flatMap(({ cluster, exported }) => (exported ? cluster : []));
  const areLive = clusters.every(({ liveness }) => liveness === "live");
  return areLive && exporters.join() === wanted.exporters.join();
}

export function describeState({ clusters, services, events }: DashboardState): readonly string[] {
  const states = clusters.map(({ id, liveness }) => `${id} ${liveness}`);
  const rows = services.map(({ key, verdict, parts }) => {
    const exporters = parts.flatMap(({ cluster, exported }) => (exported ? cluster : []));
    const importers = parts.filter(({ sources }) => sources.some(({ ready }) => ready > 0));
    return `${key} ${verdict}, exported by ${list(exporters)}, used in ${list(importers.map(({ cluster }) => cluster))}`;
  });
  const kinds = new Map<TimelineEvent["kind"], number>();
  for (const { kind } of events) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const happened = [...kinds].map(([kind, times]) => `${kind} ${times}`);
  return [
    `clusters: ${states.join(", ")}`,
    `services: ${rows.join("; ")}`,
    `time line, ${count(events.length, "event")}: ${happened.join(", ")}`,
  ];
}
