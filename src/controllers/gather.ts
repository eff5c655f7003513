// Observe, for a support bundle: an API server in, objects that tell how Isthmus is set up and at work there out, kind by kind.
// Never asks for a Secret. What cannot be read is a sentence.

import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  EVENT,
  LEASE,
  NODE,
  type Node,
  POD,
  type Pod,
  SERVICE_CIDR,
} from "../api/builtin.ts";
import { CLUSTER_PROPERTY } from "../api/about.ts";
import { CRDS } from "../api/crds.ts";
import { SYSTEM_NAMESPACE } from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING } from "../api/rbac.ts";
import { nameOf } from "../core/check/crd.ts";
import { DEPLOYMENT } from "../dns/coredns.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import { COREDNS_PLACE } from "./inspectDns.ts";
import { listUpTo } from "./list.ts";
import type { SightOptions } from "./sight.ts";

/** More of one kind tell nothing new. */
const OBJECTS_MAX = 5_000;
const EVENTS_MAX = 2_000;
const BOUND_MS = 30_000;

export interface GatheredObjects {
  /** By the plural of their kind. */
  readonly objects: ReadonlyMap<string, readonly KubeObject[]>;
  readonly corefile: string | undefined;
  /** Whose logs may tell something. */
  readonly pods: readonly Pod[];
  /** Sentences. */
  readonly leftOut: readonly string[];
}

/** Kinds whose events are worth reading. */
const TOLD_KINDS: ReadonlySet<string> = new Set(["ServiceExport", "ServiceImport"]);
const ROLE_NAME = /^isthmus-/;

export async function gatherObjects(options: SightOptions): Promise<GatheredObjects> {
  const { store, clock, signal, boundMs = BOUND_MS } = options;
  const leftOut: string[] = [];
  const objects = new Map<string, readonly KubeObject[]>();

  async function attempt<T>(what: string, ask: (bound: AbortSignal) => Promise<T>) {
    try {
      return await runBounded({ clock, boundMs, stop: signal }, ask);
    } catch (error) {
      signal.throwIfAborted();
      // A kind that the server does not know has no objects.
      if (isStoreError(error, "NotFound")) return undefined;
      const why = isStoreError(error, "Forbidden")
        ? "you may not read them."
        : options.describe(error);
      leftOut.push(`${what}: ${why}`);
      return undefined;
    }
  }

  async function keep<T extends KubeObject>(
    resource: Resource<T>,
    scope: { readonly namespace?: string; readonly most?: number },
    isWanted: (object: T) => boolean = () => true,
  ): Promise<readonly T[]> {
    const { namespace, most = OBJECTS_MAX } = scope;
    const found = await attempt(resource.plural, (bound) =>
      listUpTo(store, resource, {
        ...(namespace === undefined ? {} : { namespace }),
        most,
        signal: bound,
      }),
    );
    if (found === undefined) return [];
    if (!found.isWhole) leftOut.push(`${resource.plural}: there are more than ${most}.`);
    const wanted = found.items.filter(isWanted);
    if (wanted.length > 0) {
      objects.set(resource.plural, [...(objects.get(resource.plural) ?? []), ...wanted]);
    }
    return wanted;
  }

  const isOurs = ({ metadata }: KubeObject): boolean => ROLE_NAME.test(metadata.name ?? "");
  const inSystem = { namespace: SYSTEM_NAMESPACE };
  await keep(CLUSTER_PROPERTY, {});
  await keep(LEASE, inSystem);
  const pods = await keep(POD, inSystem);
  await keep(DEPLOYMENT, inSystem);
  await keep(ROLE, inSystem);
  await keep(ROLE_BINDING, inSystem);
  await keep(CLUSTER_ROLE, {}, isOurs);
  await keep(CLUSTER_ROLE_BINDING, {}, isOurs);
  await keep(SERVICE_CIDR, {});
  const nodes = await keep(NODE, {});
  if (nodes.length > 0) objects.set(NODE.plural, nodes.map(shortenNode));
  await keep(EVENT, { most: EVENTS_MAX }, ({ involvedObject }) =>
    TOLD_KINDS.has(involvedObject.kind ?? ""),
  );
  const crds = await attempt("customresourcedefinitions", (bound) => readCrds(store, bound));
  if (crds !== undefined) objects.set(CUSTOM_RESOURCE_DEFINITION.plural, crds);
  const corefile = await attempt("the Corefile of CoreDNS", async (bound) => {
    const { namespace, configMap: name, configKey } = COREDNS_PLACE;
    return (await store.get(CONFIG_MAP, { namespace, name }, { signal: bound }))?.data?.[configKey];
  });
  return { objects, corefile, pods, leftOut };
}

/** Where it is and which addresses it was given; the rest is long, and nobody's business. */
function shortenNode({ apiVersion, kind, metadata, spec }: Node): Node {
  const { name = "", labels = {} } = metadata;
  const { podCIDRs = [] } = spec ?? {};
  return { apiVersion, kind, metadata: { name, labels }, spec: { podCIDRs } };
}

/** Which versions are there; their schemas are long, and in crds/ of the release that the labels name. */
async function readCrds(store: Store, signal: AbortSignal): Promise<readonly KubeObject[]> {
  const found = await Promise.all(
    CRDS.map((crd) => store.get(CUSTOM_RESOURCE_DEFINITION, { name: nameOf(crd) }, { signal })),
  );
  return found.flatMap((crd) => {
    if (crd === undefined) return [];
    const versions = crd.spec.versions.map(({ name, served, storage }) => ({
      name,
      served,
      storage,
    }));
    return [{ ...crd, spec: { ...crd.spec, versions } }];
  });
}
