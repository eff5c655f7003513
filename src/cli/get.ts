// CLI: `isthmus get exports|imports|clusters`: one row for each export, import and cluster of the clusterset.

import { Problem } from "../api/problem.ts";
import {
  type ClustersetView,
  type ClusterView,
  type ExportView,
  type ImportRow,
  type SourceView,
  viewClusterset,
} from "../core/clusterset/view.ts";
import { formatAge } from "../core/clusterset/time.ts";
import type { Condition } from "../api/object.ts";
import type { CliContext } from "./context.ts";
import { chooseNamespace, type ReadingFlags, requireSight, withObserver } from "./observer.ts";
import { ageOf, type Column, orNone, printData, printTable, warnOf } from "./printing.ts";

export type Gettable = "exports" | "imports" | "clusters";

export async function runGet(
  context: CliContext,
  what: Gettable,
  request: { readonly names: readonly string[]; readonly flags: ReadingFlags },
): Promise<void> {
  const { flags } = request;
  await withObserver(context, flags, async (observer) => {
    const namespace =
      what === "clusters" ? undefined : chooseNamespace(flags, observer.defaultNamespace);
    const depth = what === "clusters" ? "services" : "endpoints";
    const observation = await observer.look({ namespace, depth });
    const { nowMs } = observation;
    const view = viewClusterset(observation);
    // Of clusters it is told how each of them is, first.
    if (what !== "clusters") requireSight(observation);
    const scene = { context, flags, names: request.names, namespace, nowMs };
    warnOf(context, findWarnings(view, what));
    if (what === "clusters") getClusters(scene, view);
    else if (what === "exports") getExports(scene, view);
    else getImports(scene, view);
    requireSight(observation);
  });
}

interface Scene {
  readonly context: CliContext;
  readonly flags: ReadingFlags;
  readonly names: readonly string[];
  /** Undefined: all. */
  readonly namespace: string | undefined;
  readonly nowMs: number;
}

/** In front of the table, so that nobody takes half of it for all. */
function findWarnings(view: ClustersetView, what: Gettable): readonly string[] {
  const clusters = view.clusters.flatMap(({ id, problems }) =>
    problems.map((problem) => `${id}: ${problem}`),
  );
  const hub = view.hub?.problem;
  const behind =
    what === "imports"
      ? view.services.flatMap(({ service, imports }) =>
          imports.flatMap((row) =>
            row.behind === undefined
              ? []
              : `${row.cluster}: ${service} is behind: ${row.behind} See "isthmus explain ${service}".`,
          ),
        )
      : [];
  return [...clusters, ...(hub === undefined ? [] : [hub]), ...behind];
}

function getClusters(scene: Scene, { clusters }: ClustersetView): void {
  const rows = pick(scene, clusters, ({ id }) => id, "cluster");
  show(scene, rows, {
    data: { clusters: rows },
    nameOf: ({ id }) => id,
    columns: clusterColumns(),
  });
}

function clusterColumns(): readonly Column<ClusterView>[] {
  return [
    { title: "NAME", read: ({ id }) => id },
    { title: "STATE", read: ({ liveness }) => liveness },
    // By the member's clock: -o wide says how the state is told.
    {
      title: "HEARD",
      read: ({ lease }) => (lease ? `${formatAge(lease.ageSeconds * 1_000)} ago` : "-"),
    },
    { title: "EXPORTS", read: ({ exports }) => String(exports ?? "-") },
    { title: "IMPORTS", read: ({ imports }) => String(imports ?? "-") },
    { title: "REGION", read: ({ region }) => orNone(region) },
    { title: "VERSION", read: ({ version }) => orNone(version) },
    { title: "READ FROM", read: ({ source }) => (source === "seen" ? "cluster" : "hub") },
    { title: "ZONES", read: ({ zones }) => orNone(zones.join(",")), wide: true },
    { title: "POD CIDRS", read: ({ podCIDRs }) => orNone(podCIDRs.join(",")), wide: true },
    {
      title: "SERVICE CIDRS",
      read: ({ serviceCIDRs }) => orNone(serviceCIDRs.join(",")),
      wide: true,
    },
    { title: "WHY", read: ({ livenessWhy }) => livenessWhy, wide: true },
  ];
}

function getExports(scene: Scene, { services }: ClustersetView): void {
  const all = services.flatMap(({ exports }) => exports);
  const rows = pick(scene, all, ({ name }) => name, "export");
  const columns: readonly Column<ExportView>[] = [
    ...namespaceColumn<ExportView>(scene),
    { title: "NAME", read: ({ name }) => name },
    { title: "CLUSTER", read: ({ cluster }) => cluster },
    {
      title: "VALID",
      read: ({ valid, conditions }) => (valid ? "True" : reasonOf(conditions, "Valid")),
    },
    { title: "READY", read: ({ conditions }) => statusOf(conditions, "Ready") },
    {
      title: "CONFLICT",
      read: ({ conflicts }) => conflicts.map(({ reason }) => reason).join(",") || "-",
    },
    { title: "ENDPOINTS", read: ({ ready, endpoints }) => countOf(ready, endpoints) },
    { title: "AGE", read: ({ createdAt }) => ageOf(createdAt, scene.nowMs) },
    { title: "WINNER", read: ({ winner }) => winner ?? "-", wide: true },
    { title: "BEHIND", read: ({ behind }) => behind ?? "-", wide: true },
    {
      title: "SAYS",
      read: ({ conflicts }) => conflicts.map(({ message }) => message).join(" ") || "-",
      wide: true,
    },
  ];
  show(scene, rows, { data: { exports: rows }, nameOf: nameOfRow, columns });
}

function getImports(scene: Scene, { services }: ClustersetView): void {
  const all = services.flatMap(({ imports }) => imports);
  const rows = pick(scene, all, ({ name }) => name, "import");
  const columns: readonly Column<ImportRow>[] = [
    ...namespaceColumn<ImportRow>(scene),
    { title: "NAME", read: ({ name }) => name },
    { title: "CLUSTER", read: ({ cluster }) => cluster },
    { title: "TYPE", read: ({ type }) => type },
    { title: "IP", read: ({ ips }) => orNone(ips.join(",")) },
    { title: "READY", read: ({ conditions }) => statusOf(conditions, "Ready") },
    { title: "ENDPOINTS", read: ({ sources }) => sources.map(sourceOf).join(", ") || "-" },
    { title: "SYNC AGE", read: (row) => syncOf(row, scene.nowMs) },
    {
      title: "LAG",
      read: ({ sync }) => (sync.lagSeconds === undefined ? "-" : `${sync.lagSeconds}s`),
      wide: true,
    },
    { title: "BEHIND", read: ({ behind }) => behind ?? "-", wide: true },
  ];
  show(scene, rows, { data: { imports: rows }, nameOf: nameOfRow, columns });
}

function namespaceColumn<T extends { readonly namespace: string }>(scene: Scene): Column<T>[] {
  return scene.namespace === undefined
    ? [{ title: "NAMESPACE", read: ({ namespace }: T) => namespace }]
    : [];
}

function nameOfRow({ cluster, namespace, name }: ExportView | ImportRow): string {
  return `${cluster}/${namespace}/${name}`;
}

/** "east 3, west 2/3": all ready, or how many of how many. */
function sourceOf({ cluster, ready, endpoints, liveness }: SourceView): string {
  const state = liveness === "live" || liveness === "unknown" ? "" : ` (${liveness})`;
  return `${cluster} ${countOf(ready, endpoints)}${state}`;
}

function countOf(ready: number, endpoints: number): string {
  return ready === endpoints ? String(ready) : `${ready}/${endpoints}`;
}

/** Since something of it was last written: long is good, as long as it is not behind. */
function syncOf({ sync, behind, unknown }: ImportRow, nowMs: number): string {
  const age = ageOf(sync.writtenAt, nowMs);
  if (behind !== undefined) return `${age} behind`;
  return unknown.length > 0 ? `${age} ?` : age;
}

function statusOf(conditions: readonly Condition[], wanted: string): string {
  return conditions.find(({ type }) => type === wanted)?.status ?? "Unknown";
}

function reasonOf(conditions: readonly Condition[], wanted: string): string {
  return conditions.find(({ type }) => type === wanted)?.reason ?? "False";
}

function pick<T>(
  { names, namespace }: Scene,
  rows: readonly T[],
  nameOf: (row: T) => string,
  kind: string,
): readonly T[] {
  if (names.length === 0) return rows;
  const missing = names.filter((name) => !rows.some((row) => nameOf(row) === name));
  if (missing.length > 0) {
    const where =
      kind === "cluster" || namespace === undefined ? "" : ` in namespace "${namespace}"`;
    throw new Problem("NothingFound", `there is no ${kind} "${missing.join('", "')}"${where}`, {
      hint:
        kind === "cluster"
          ? "See them all with: isthmus get clusters"
          : `See them all with: isthmus get ${kind}s -A`,
    });
  }
  return rows.filter((row) => names.includes(nameOf(row)));
}

function show<T>(
  { context, flags, namespace }: Scene,
  rows: readonly T[],
  output: {
    readonly data: unknown;
    readonly nameOf: (row: T) => string;
    readonly columns: readonly Column<T>[];
  },
): void {
  const names = rows.map(output.nameOf);
  if (printData(context, flags.output, { data: output.data, names })) return;
  if (rows.length === 0) {
    const where = namespace === undefined ? "" : ` in namespace "${namespace}"`;
    context.error(
      `Nothing found${where}.${namespace === undefined ? "" : " -A looks in all namespaces."}`,
    );
    return;
  }
  printTable(context, rows, { columns: output.columns, isWide: flags.output === "wide" });
}
