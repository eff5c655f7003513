// Fault tests: every version of what is imported into a cluster, with the time it was seen at, on record from the start to
// the end; and what the versions mean to whoever uses the service.

import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  SERVICE,
  type Service,
} from "../../src/api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../../src/api/mcs.ts";
import { MANAGED_LABEL, SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import type { Store } from "../../src/ports/store.ts";

/** What became of the endpoints of one source: usable, to be avoided, gone. */
export type Fate = "ready" | "unready" | "withdrawn";

export interface Change {
  readonly atMs: number;
  readonly cluster: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly kind: string;
  readonly name: string;
  readonly service: string;
  /** Of a slice. */
  readonly source?: string;
  readonly fate?: Fate;
  /** Of a ServiceImport and of the Service that carries its virtual IP. */
  readonly ips?: readonly string[];
}

export interface History {
  readonly changes: readonly Change[];
  /** "kind name uid version" of all that is imported now, asked for and not remembered. */
  versions(): Promise<readonly string[]>;
  stop(): void;
}

interface Recorded {
  readonly resource: Resource;
  readonly labelSelector?: string;
}
const RECORDED: readonly Recorded[] = [
  { resource: SERVICE_IMPORT },
  { resource: ENDPOINT_SLICE, labelSelector: SERVICE_NAME_LABEL },
  { resource: SERVICE, labelSelector: MANAGED_LABEL },
];

export async function recordHistory(cluster: string, store: Store): Promise<History> {
  const changes: Change[] = [];
  const end = new AbortController();
  const { signal } = end;
  let failure: Error | undefined;
  for (const { resource, ...selection } of RECORDED) {
    const { resourceVersion } = await store.list(resource, selection);
    const watch = async (): Promise<void> => {
      await store.watch(resource, { ...selection, resourceVersion, signal }, (event) => {
        if (event.type !== "BOOKMARK") changes.push(describeChange(cluster, event));
      });
      if (!signal.aborted) throw new Error("the server ended it");
    };
    watch().catch((error: unknown) => {
      failure = new Error(`the watch of ${resource.plural} in ${cluster} broke`, { cause: error });
    });
  }
  return {
    get changes() {
      // A record with a gap proves nothing.
      if (failure !== undefined) throw failure;
      return changes;
    },
    async versions() {
      const all: string[] = [];
      for (const { resource, ...selection } of RECORDED) {
        const { items } = await store.list(resource, selection);
        for (const { metadata } of items) {
          const { name, uid, resourceVersion } = metadata;
          all.push(`${resource.kind} ${name} ${uid} ${resourceVersion}`);
        }
      }
      return all.toSorted();
    },
    stop: () => end.abort(),
  };
}

function describeChange(
  cluster: string,
  event: { readonly type: Change["type"]; readonly object: KubeObject },
): Change {
  const { type, object } = event;
  const { kind, metadata } = object;
  const { name = "", labels = {} } = metadata;
  const change = { atMs: performance.now(), cluster, type, kind, name };
  if (kind === ENDPOINT_SLICE.kind) {
    const service = labels[SERVICE_NAME_LABEL] ?? "";
    const source = labels[SOURCE_CLUSTER_LABEL] ?? "";
    const fate = type === "DELETED" ? "withdrawn" : fateOf(object as EndpointSlice);
    return { ...change, service, source, fate };
  }
  const isImport = kind === SERVICE_IMPORT.kind;
  const ips = isImport ? (object as ServiceImport).spec?.ips : (object as Service).spec?.clusterIPs;
  const service = isImport ? name : (labels[SERVICE_NAME_LABEL] ?? "");
  return { ...change, service, ...(ips === undefined ? {} : { ips }) };
}

function fateOf({ endpoints }: EndpointSlice): Fate {
  const all = endpoints ?? [];
  if (all.length === 0) return "withdrawn";
  return all.some(({ conditions }) => conditions?.ready !== false) ? "ready" : "unready";
}
