// CLI: which Services of which cluster a command exports or takes back: arguments and flags in, each with its Service and its
// ServiceExport out.

import { ENDPOINT_SLICE, type EndpointSlice, SERVICE, type Service } from "../api/builtin.ts";
import { SERVICE_EXPORT, type ServiceExport } from "../api/mcs.ts";
import { KUBE_SERVICE_NAME_LABEL, type ServiceKey, splitServiceKey } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { parseServiceName } from "../core/clusterset/servicename.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Cluster, Clusters } from "./cluster.ts";
import { flagsOf, readSources, type SourceFlags } from "./source.ts";

export interface TargetFlags extends SourceFlags {
  readonly namespace?: string;
  /** False: `--no-hub`. */
  readonly hub: boolean;
  readonly dryRun: boolean;
  readonly output?: "yaml";
}

export interface Wanted {
  readonly key: ServiceKey;
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly service: Service | undefined;
  readonly serviceExport: ServiceExport | undefined;
}

/** The first that is named is the one that is changed. */
export function openTarget(clusters: Clusters, flags: TargetFlags): Cluster {
  const [first] = readSources(flags);
  return clusters.open(first === undefined ? {} : flagsOf(first));
}

export async function findWanted(
  { store, config }: Cluster,
  request: {
    readonly names: readonly string[];
    readonly flags: TargetFlags;
    readonly signal: AbortSignal;
  },
): Promise<readonly Wanted[]> {
  const { names, flags, signal } = request;
  const fallback = flags.namespace ?? config.namespace ?? "default";
  const keys = names.map((name) => {
    const parsed = parseServiceName(name, fallback);
    if (!parsed.ok) throw new Problem("ArgumentInvalid", parsed.problem);
    return parsed.value;
  });
  const wanted: Wanted[] = [];
  for (const key of new Set(keys)) {
    const ref = splitServiceKey(key);
    const serviceExport = await readExport(store, ref, signal);
    const service = await store.get(SERVICE, ref, { signal });
    wanted.push({ key, ref, service, serviceExport });
  }
  return wanted;
}

export async function readExport(
  store: Store,
  ref: Wanted["ref"],
  signal: AbortSignal,
): Promise<ServiceExport | undefined> {
  try {
    return await store.get(SERVICE_EXPORT, ref, { signal });
  } catch (error) {
    // An object that is not there is no error: it is the kind that the server does not know.
    if (!isStoreError(error, "NotFound")) throw error;
    throw new Problem("ServiceExportsMissing", "the cluster does not know ServiceExports", {
      hint: '"isthmus crds install" teaches it; so do "isthmus central" and "isthmus join", which have to run before anybody makes use of an export.',
      cause: error,
    });
  }
}

/** Of the Service, as kube-proxy finds them. */
export async function readSlices(
  store: Store,
  { namespace, name }: Wanted["ref"],
  signal: AbortSignal,
): Promise<readonly EndpointSlice[]> {
  const labelSelector = `${KUBE_SERVICE_NAME_LABEL}=${name}`;
  return (await store.list(ENDPOINT_SLICE, { namespace, labelSelector, signal })).items;
}

export function renderExport(ref: Wanted["ref"]): ServiceExport {
  return {
    apiVersion: apiVersionOf(SERVICE_EXPORT),
    kind: SERVICE_EXPORT.kind,
    metadata: { ...ref },
  };
}
