// Bench: the floor in a process of its own: the API writes that no implementation can do without, and nothing else. It knows
// beforehand what we have to find out, reads no cache, compares nothing.

import { ENDPOINT_SLICE, type EndpointSlice, SERVICE, type Service } from "../src/api/builtin.ts";
import { derivedServiceName, importedSliceName } from "../src/api/digest.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../src/api/mcs.ts";
import { type ClusterId, SOURCE_CLUSTER_LABEL, serviceKey } from "../src/api/names.ts";
import { WORKERS } from "../src/controllers/member.ts";
import { processorMs, serveParent } from "./child.ts";
import {
  renderDerived,
  renderExportStatus,
  renderImport,
  renderImportStatus,
  renderSlice,
} from "./needed.ts";
import { FLOOR_SPACES, SPACE } from "./pair.ts";
import { forEach, renderSource, serviceName } from "./source.ts";
import { openWire, type Wire } from "./wire.ts";

/** Follow changes of single slices, or write so many imports. */
export type FloorTask = "follow" | { readonly imports: number };

export interface FloorReport {
  readonly writes: number;
  readonly cpuMs: number;
}

serveParent(
  (access) => Promise.all(access.map(openWire)),
  async ([a, b], message) => {
    if (a === undefined || b === undefined) throw new Error("two clusters are needed");
    const task = message as FloorTask;
    if (task === "follow") {
      const [same, one] = FLOOR_SPACES;
      await follow(a, same, [a, b]);
      await follow(a, one, [b]);
      return "following";
    }
    const startedAtMs = processorMs();
    const { imports } = task;
    let writes = 0;
    const counted = async (work: Promise<number>): Promise<void> => {
      const made = await work;
      writes += made;
    };
    // As many at once as our queues work on: one of exports and one of imports per cluster.
    await Promise.all([
      forEach(imports, (index) => counted(writeExport(a, index)), WORKERS),
      ...[a, b].map((wire) =>
        forEach(imports, (index) => counted(writeImport(wire, index)), WORKERS),
      ),
    ]);
    return { writes, cpuMs: processorMs() - startedAtMs } satisfies FloorReport;
  },
);

/** Each change of a slice becomes the same change of its import, at once, wherever it is to be imported. */
async function follow(a: Wire, space: string, importers: readonly Wire[]): Promise<void> {
  await a.watch(ENDPOINT_SLICE, space, (line) => {
    const { type, object }: { type: string; object: EndpointSlice } = JSON.parse(line);
    const isImport = object.metadata.labels?.[SOURCE_CLUSTER_LABEL] !== undefined;
    if (type === "BOOKMARK" || isImport) return;
    const names = namesOf(space, object.metadata.name ?? "");
    for (const wire of importers) {
      const slice = disguise(renderSlice({ ...names, source: object, isLocal: wire === a }));
      void wire.apply(ENDPOINT_SLICE, targetOf(slice), JSON.stringify(slice));
    }
  });
}

/** As large as ours, but not taken for one of ours that nobody exports: Isthmus runs at the same time. */
function disguise(slice: EndpointSlice): EndpointSlice {
  const { labels, ...metadata } = slice.metadata;
  const entries = Object.entries(labels ?? {}).map(([key, value]): [string, string] =>
    key === SOURCE_CLUSTER_LABEL ? [key, value] : [`floor.${key}`, value],
  );
  return { ...slice, metadata: { ...metadata, labels: Object.fromEntries(entries) } };
}

/** Answers how many writes it took. */
async function writeImport(wire: Wire, index: number): Promise<number> {
  const names = namesOf(SPACE, serviceName(index));
  const bare = renderImport(names, []);
  const made: ServiceImport = parse(
    await wire.apply(SERVICE_IMPORT, targetOf(bare), JSON.stringify(bare)),
  );
  // Nodes are known by name in their own cluster only.
  const slice = renderSlice({
    ...names,
    source: renderSource(SPACE, index),
    isLocal: wire.id === names.cluster,
  });
  await wire.apply(ENDPOINT_SLICE, targetOf(slice), JSON.stringify(slice));
  const derived = renderDerived(names, made.metadata.uid ?? "");
  const served: Service = parse(
    await wire.apply(SERVICE, targetOf(derived), JSON.stringify(derived)),
  );
  const full = renderImport(names, served.spec?.clusterIPs ?? []);
  await wire.apply(SERVICE_IMPORT, targetOf(full), JSON.stringify(full));
  const status = renderImportStatus(names, now());
  await wire.apply(
    SERVICE_IMPORT,
    { ...targetOf(status), subresource: "status" },
    JSON.stringify(status),
  );
  return 5;
}

async function writeExport(wire: Wire, index: number): Promise<number> {
  const status = renderExportStatus(namesOf(SPACE, serviceName(index)), now());
  await wire.apply(
    SERVICE_EXPORT,
    { ...targetOf(status), subresource: "status" },
    JSON.stringify(status),
  );
  return 1;
}

function namesOf(namespace: string, name: string) {
  const service = serviceKey({ namespace, name });
  const cluster = "a" as ClusterId;
  return {
    namespace,
    name,
    cluster,
    derivedName: derivedServiceName(service),
    sliceName: importedSliceName({ service, cluster, slice: name }),
  };
}

function targetOf({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
}) {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}

function parse(bytes: Buffer) {
  return JSON.parse(bytes.toString("utf8"));
}

function now(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
