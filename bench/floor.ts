// Bench: the floor of one cluster in a process of its own: the watches that tell of a change and the API writes that no
// implementation can do without, and nothing else. It knows beforehand what we have to find out, keeps no cache, compares
// nothing.
//
//   a:  exports and slices of the cluster ─▶ shares on the hub, status of the export, import in the cluster
//   b:  shares on the hub ─▶ import in the cluster

import { ENDPOINT_SLICE, NAMESPACE, SERVICE, type Service } from "../src/api/builtin.ts";
import {
  derivedServiceName,
  endpointShareName,
  importedSliceName,
  serviceShareName,
} from "../src/api/digest.ts";
import { ENDPOINT_SHARE, type EndpointShareObject, SERVICE_SHARE } from "../src/api/hubshare.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../src/api/mcs.ts";
import { SOURCE_CLUSTER_LABEL, serviceKey } from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import { WORKERS } from "../src/controllers/member.ts";
import { formatTime } from "../src/ports/clock.ts";
import { peakRssBytes, processorMs, serveParent } from "./parent.ts";
import { SHARES, SOURCE, SPACE } from "./access.ts";
import { createLane } from "./lane.ts";
import {
  renderDerived,
  renderEndpointShare,
  renderExportStatus,
  renderImport,
  renderImportStatus,
  renderServiceShare,
  renderSlice,
  type Sliced,
} from "./needed.ts";
import type { SideTask, WorkReport } from "./side.ts";
import { openWire, type Wire } from "./wire.ts";

type Task = "new" | "changed" | "gone";

serveParent(
  (access) => Promise.all(access.map(openWire)),
  async ([hub, cluster], message) => {
    if (hub === undefined || cluster === undefined) throw new Error("a floor needs a hub");
    const task = message as SideTask;
    if (task === "reread") return readAll(hub, cluster);
    if (task !== "report") {
      const isCold = task === "start";
      await (cluster.id === SOURCE
        ? followCluster(hub, cluster, isCold)
        : followHub(hub, cluster, isCold));
    }
    return {
      writes: hub.writes() + cluster.writes(),
      cpuMs: processorMs(),
      peakRssBytes: peakRssBytes(),
      isSettled: true,
    } satisfies WorkReport;
  },
);

/** What is exported there already is not exported again, unless it is the start that is measured. */
async function followCluster(hub: Wire, cluster: Wire, isCold: boolean): Promise<void> {
  const slices = new Map<string, Sliced>();
  const exportedAt = new Map<string, string>();
  const versions = new Map<string, string>();
  const imports = createImports(cluster, (name) => require(slices, name));
  const exports = createLane<Task>(WORKERS, async (name, task) => {
    const names = namesOf(name);
    if (task === "gone") {
      await hub.remove(SERVICE_SHARE, { namespace: SHARES, name: names.serviceShareName });
      await hub.remove(ENDPOINT_SHARE, { namespace: SHARES, name: names.endpointShareName });
      return;
    }
    const share = renderEndpointShare(names, require(slices, name));
    if (task === "changed") {
      const resourceVersion = require(versions, names.endpointShareName);
      const pinned = { ...share, metadata: { ...share.metadata, resourceVersion } };
      noteVersion(parse(await hub.replace(ENDPOINT_SHARE, pinned)));
      return;
    }
    noteVersion(parse(await hub.create(ENDPOINT_SHARE, share)));
    await hub.create(SERVICE_SHARE, renderServiceShare(names, require(exportedAt, name)));
    await cluster.apply(SERVICE_EXPORT, renderExportStatus(names, now()), "status");
  });
  function noteVersion({ metadata: { name = "", resourceVersion = "" } }: KubeObject): void {
    versions.set(name, resourceVersion);
  }
  function add(name: string, task: Task): void {
    exports.add(name, task);
    imports.add(name, task);
  }

  for (const share of (await hub.list(ENDPOINT_SHARE, SHARES)).items) noteVersion(share);
  await cluster.follow(ENDPOINT_SLICE, SPACE, ({ type, object }) => {
    const { name = "", labels } = object.metadata;
    if (labels?.[SOURCE_CLUSTER_LABEL] !== undefined) return;
    slices.set(name, object);
    if (type === "MODIFIED" && exportedAt.has(name)) add(name, "changed");
  });
  await cluster.follow(SERVICE_EXPORT, SPACE, ({ type, object }) => {
    const { name = "", creationTimestamp = "" } = object.metadata;
    if (type === "DELETED") {
      exportedAt.delete(name);
      add(name, "gone");
      return;
    }
    exportedAt.set(name, creationTimestamp);
    if (type === "ADDED" || (type === "INITIAL" && isCold)) add(name, "new");
  });
}

async function followHub(hub: Wire, cluster: Wire, isCold: boolean): Promise<void> {
  const slices = new Map<string, Sliced>();
  /** Two watches: the service may be heard of before its endpoints. */
  const early = new Set<string>();
  const imports = createImports(cluster, (name) => require(slices, name));

  await hub.follow(ENDPOINT_SHARE, SHARES, ({ type, object }) => {
    if (type === "DELETED") return;
    const { slice: name } = object.spec;
    slices.set(name, slicedOf(object));
    if (type === "MODIFIED") imports.add(name, "changed");
    if (early.delete(name)) imports.add(name, "new");
  });
  await hub.follow(SERVICE_SHARE, SHARES, ({ type, object }) => {
    const name = (object.metadata.name ?? "").slice(SPACE.length + 1);
    if (type === "DELETED") imports.add(name, "gone");
    else if (!slices.has(name)) early.add(name);
    else if (type === "ADDED" || (type === "INITIAL" && isCold)) imports.add(name, "new");
  });
}

function slicedOf({ spec: { addressType, endpoints, ports } }: EndpointShareObject): Sliced {
  return { addressType, endpoints, ports } as Sliced;
}

function createImports(cluster: Wire, sliceOf: (name: string) => Sliced) {
  const isLocal = cluster.id === SOURCE;
  return createLane<Task>(WORKERS, async (name, task) => {
    const names = namesOf(name);
    if (task === "gone") {
      const { namespace } = names;
      await cluster.remove(SERVICE_IMPORT, { namespace, name });
      await cluster.remove(SERVICE, { namespace, name: names.derivedName });
      await cluster.remove(ENDPOINT_SLICE, { namespace, name: names.sliceName });
      return;
    }
    const slice = renderSlice({ ...names, source: sliceOf(name), isLocal });
    if (task === "changed") {
      await cluster.apply(ENDPOINT_SLICE, slice);
      return;
    }
    const made: ServiceImport = parse(await cluster.apply(SERVICE_IMPORT, renderImport(names, [])));
    await cluster.apply(ENDPOINT_SLICE, slice);
    const derived = renderDerived(names, made.metadata.uid ?? "");
    const served: Service = parse(await cluster.apply(SERVICE, derived));
    await cluster.apply(SERVICE_IMPORT, renderImport(names, served.spec?.clusterIPs ?? []));
    await cluster.apply(SERVICE_IMPORT, renderImportStatus(names, now()), "status");
  });
}

/** What an agent has to read before it can know that there is nothing to do. */
async function readAll(hub: Wire, cluster: Wire): Promise<number> {
  const startedMs = performance.now();
  const everything: readonly (readonly [Wire, Resource])[] = [
    [hub, SERVICE_SHARE],
    [hub, ENDPOINT_SHARE],
    [cluster, NAMESPACE],
    [cluster, SERVICE],
    [cluster, ENDPOINT_SLICE],
    [cluster, SERVICE_EXPORT],
    [cluster, SERVICE_IMPORT],
  ];
  await Promise.all(everything.map(([wire, resource]) => wire.list(resource)));
  return performance.now() - startedMs;
}

function namesOf(name: string) {
  const service = serviceKey({ namespace: SPACE, name });
  return {
    namespace: SPACE,
    name,
    cluster: SOURCE,
    derivedName: derivedServiceName(service),
    sliceName: importedSliceName({ service, cluster: SOURCE, slice: name }),
    shareNamespace: SHARES,
    serviceShareName: serviceShareName(service),
    endpointShareName: endpointShareName(service, name),
  };
}

function require<T>(known: ReadonlyMap<string, T>, name: string): T {
  const found = known.get(name);
  if (found === undefined) throw new Error(`nothing is known of ${name}`);
  return found;
}

function parse(bytes: Buffer) {
  return JSON.parse(bytes.toString("utf8"));
}

function now(): string {
  return formatTime(Date.now());
}
