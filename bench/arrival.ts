// Bench: watches on the API servers → the moment when all that was asked for is there, or gone. The same eyes for us and for
// the floor.

import { ENDPOINT_SLICE, type EndpointSlice, SERVICE, type Service } from "../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../src/api/hubshare.ts";
import {
  SERVICE_EXPORT,
  SERVICE_IMPORT,
  type ServiceExport,
  type ServiceImport,
} from "../src/api/mcs.ts";
import { MANAGED_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { Condition, KubeObject, Resource } from "../src/api/object.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { SHARES, SPACE } from "./access.ts";
import type { Fleet } from "./fleet.ts";
import type { Size } from "./source.ts";

export interface Arrival {
  /** Resolves to the time when it was complete, as `performance.now()` tells it. */
  readonly complete: Promise<number>;
  stop(): Promise<void>;
}

interface Watched<T extends KubeObject = KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly isDone: (object: T) => boolean;
}

const TIMEOUT_MS = 1_800_000;

/** Resolves when the watches are open. Every service is to have an import in both clusters, and its export a status. */
export function watchArrival({ a, both }: Fleet, { services, endpoints }: Size): Promise<Arrival> {
  const isWhole = (slice: EndpointSlice): boolean => slice.endpoints.length === endpoints;
  const exported = { client: a, resource: SERVICE_EXPORT, namespace: SPACE, isDone: isExported };
  const parts = [
    exported satisfies Watched<ServiceExport>,
    ...both.flatMap((client) => importedParts(client, isWhole)),
  ] as Watched[];
  return watchAll(parts, services, (type) => type !== "DELETED");
}

/** Resolves when the watches are open. Nothing that was shared or imported is to be left. */
export function watchGone({ hub, both }: Fleet, services: number): Promise<Arrival> {
  const isDone = (): boolean => true;
  const parts = [
    { client: hub, resource: SERVICE_SHARE, namespace: SHARES, isDone },
    { client: hub, resource: ENDPOINT_SHARE, namespace: SHARES, isDone },
    ...both.flatMap((client) => importedParts(client, isDone).map((part) => ({ ...part, isDone }))),
  ] as Watched[];
  return watchAll(parts, services, (type) => type === "DELETED");
}

function importedParts(client: KubeClient, isWhole: (slice: EndpointSlice) => boolean) {
  const at = { client, namespace: SPACE };
  return [
    { ...at, resource: SERVICE_IMPORT, isDone: isImported } satisfies Watched<ServiceImport>,
    {
      ...at,
      resource: SERVICE,
      labelSelector: `${MANAGED_LABEL}=true`,
      isDone: hasAddress,
    } satisfies Watched<Service>,
    {
      ...at,
      resource: ENDPOINT_SLICE,
      labelSelector: SOURCE_CLUSTER_LABEL,
      isDone: isWhole,
    } satisfies Watched<EndpointSlice>,
  ];
}

async function watchAll(
  parts: readonly Watched[],
  count: number,
  isMeant: (type: string) => boolean,
): Promise<Arrival> {
  const stopping = new AbortController();
  let missing = parts.length * count;
  let tell: (atMs: number) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const complete = new Promise<number>((resolve, reject) => {
    tell = resolve;
    fail = reject;
    const timer = setTimeout(() => {
      reject(new Error(`${missing} of ${parts.length * count} objects were not seen in time`));
    }, TIMEOUT_MS);
    stopping.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  const ended: Promise<void>[] = [];
  for (const { client, resource, namespace, labelSelector, isDone } of parts) {
    const scope = { namespace, ...(labelSelector !== undefined && { labelSelector }) };
    const done = new Set<string>();
    const { resourceVersion } = await client.list(resource, { ...scope, limit: 1 });
    await new Promise<void>((onOpen, onFailure) => {
      const watch = { ...scope, resourceVersion, signal: stopping.signal, onOpen };
      const end = client.watch(resource, watch, (event) => {
        if (event.type === "BOOKMARK" || !isMeant(event.type) || !isDone(event.object)) return;
        const { name = "" } = event.object.metadata;
        if (done.has(name)) return;
        done.add(name);
        missing -= 1;
        if (missing === 0) tell(performance.now());
      });
      end.catch(onFailure);
      const onEnd = (): void => {
        if (!stopping.signal.aborted) fail(new Error(`the watch of ${resource.plural} ended`));
      };
      end.then(onEnd, onEnd);
      ended.push(end);
    });
  }
  // Whoever does not wait for it any more has another error to tell.
  complete.catch(() => undefined);
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

function isReady(conditions: readonly Condition[] | undefined): boolean {
  return (conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}
