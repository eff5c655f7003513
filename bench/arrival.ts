// Bench: watches on both API servers → the moment when all that was asked for is there. The same eyes for us and for the floor.

import { ENDPOINT_SLICE, type EndpointSlice, SERVICE, type Service } from "../src/api/builtin.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../src/api/mcs.ts";
import { MANAGED_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { Condition, KubeObject, Resource } from "../src/api/object.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { type Pair, SPACE } from "./pair.ts";
import { ENDPOINTS } from "./source.ts";

export interface Arrival {
  /** Resolves to the time when it was complete, as `performance.now()` tells it. */
  readonly complete: Promise<number>;
  stop(): Promise<void>;
}

interface Watched<T extends KubeObject = KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly labelSelector?: string;
  readonly isDone: (object: T) => boolean;
}

const TIMEOUT_MS = 900_000;

/** Resolves when the watches are open. Every service is to have an import in both clusters, and its export a status. */
export async function watchArrival({ a, both }: Pair, count: number): Promise<Arrival> {
  const stopping = new AbortController();
  const parts = [
    { client: a, resource: SERVICE_EXPORT, isDone: isExported } satisfies Watched<ServiceExport>,
    ...both.flatMap((client) => [
      { client, resource: SERVICE_IMPORT, isDone: isImported } satisfies Watched<ServiceImport>,
      {
        client,
        resource: SERVICE,
        labelSelector: `${MANAGED_LABEL}=true`,
        isDone: hasAddress,
      } satisfies Watched<Service>,
      {
        client,
        resource: ENDPOINT_SLICE,
        labelSelector: SOURCE_CLUSTER_LABEL,
        isDone: isWhole,
      } satisfies Watched<EndpointSlice>,
    ]),
  ] as Watched[];
  let missing = parts.length * count;
  let tell: (atMs: number) => void = () => undefined;
  const complete = new Promise<number>((resolve, reject) => {
    tell = resolve;
    const timer = setTimeout(() => {
      reject(new Error(`${missing} of ${parts.length * count} objects were not there in time`));
    }, TIMEOUT_MS);
    stopping.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  const ended: Promise<void>[] = [];
  for (const { client, resource, labelSelector, isDone } of parts) {
    const scope = { namespace: SPACE, ...(labelSelector !== undefined && { labelSelector }) };
    const done = new Set<string>();
    const { resourceVersion } = await client.list(resource, { ...scope, limit: 1 });
    await new Promise<void>((onOpen, onFailure) => {
      const watch = { ...scope, resourceVersion, signal: stopping.signal, onOpen };
      const end = client.watch(resource, watch, (event) => {
        if (event.type === "BOOKMARK" || event.type === "DELETED" || !isDone(event.object)) return;
        const { name = "" } = event.object.metadata;
        if (done.has(name)) return;
        done.add(name);
        missing -= 1;
        if (missing === 0) tell(performance.now());
      });
      end.catch(onFailure);
      ended.push(end);
    });
  }
  return {
    complete,
    async stop() {
      stopping.abort();
      await Promise.allSettled(ended);
    },
  };
}

function isExported({ status }: ServiceExport): boolean {
  return isReady(status?.conditions);
}

function isImported({ spec, status }: ServiceImport): boolean {
  return (spec?.ips ?? []).length > 0 && isReady(status?.conditions);
}

function hasAddress({ spec }: Service): boolean {
  return (spec?.clusterIPs ?? []).length > 0;
}

function isWhole({ endpoints }: EndpointSlice): boolean {
  return endpoints.length === ENDPOINTS;
}

function isReady(conditions: readonly Condition[] | undefined): boolean {
  return (conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}
