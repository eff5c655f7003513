// Observe, once and from outside: an API server in, what a person may see of the cluster or of its hub out. Reads in pages,
// within bounds; what fails is a sentence in the sighting, never the end of the command. Writes nothing.

import { ENDPOINT_SLICE, LEASE, type Lease, NAMESPACE, SERVICE } from "../api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../api/hubshare.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import {
  type ClusterId,
  HUB_NAMESPACE,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_LABEL,
  parseClusterId,
  SERVICE_NAME_LABEL,
  serviceKey,
} from "../api/names.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import {
  describeLack,
  type HubSighting,
  NOTHING_SEEN,
  SIGHTED_KINDS,
  type SightedKind,
  type Sighting,
} from "../core/clusterset/sighting.ts";
import { keyOf } from "../core/clusterset/record.ts";
import { resolveIdentity } from "../core/identity.ts";
import { HUB_SECRET, type HubCredential } from "../hub/credential.ts";
import type { Clock } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import { listUpTo } from "./list.ts";
import { type MembershipSight, readMembership } from "./sightMembership.ts";

export interface SightOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** A failure as a sentence for people, with what to do. */
  readonly describe: (error: unknown) => string;
  readonly boundMs?: number;
}

const BOUND_MS = 15_000;
/** Nobody reads a table of more, and nobody should have to hold it. */
const OBJECTS_MAX = 50_000;

export interface Sighted {
  readonly sighting: Sighting;
  /** How the cluster speaks to its hub, if it has joined one and we may know. */
  readonly credential: HubCredential | undefined;
}

export async function sightCluster(
  options: SightOptions & {
    readonly name: string;
    readonly givenId?: string | undefined;
    /** What it may be called where it has no id: believed only if its imports know a cluster of that name. */
    readonly guess?: string | undefined;
    /** Absent: all namespaces. */
    readonly namespace?: string | undefined;
    /** False: who asks has no way to name a namespace. */
    readonly canNarrow?: boolean | undefined;
  },
): Promise<Sighted> {
  const { name, clock, signal, boundMs = BOUND_MS } = options;
  try {
    return await runBounded({ clock, boundMs, stop: signal }, (bound) => look(options, bound));
  } catch (error) {
    signal.throwIfAborted();
    const problems = [options.describe(error)];
    const unread = SIGHTED_KINDS;
    // Who names it knows who it is, whether it answers or not.
    const cluster = resolveIdentity(name, options.givenId, undefined);
    return {
      sighting: {
        name,
        cluster: cluster.ok ? cluster.value : undefined,
        problems,
        unread,
        isSilent: true,
        ...NOTHING_SEEN,
      },
      credential: undefined,
    };
  }
}

type ClusterOptions = Parameters<typeof sightCluster>[0];

async function look(options: ClusterOptions, signal: AbortSignal): Promise<Sighted> {
  const { store, name, namespace, canNarrow = true } = options;
  const unread = new Set<SightedKind>();
  const problems = new Set<string>();
  const lacking = new Set<string>();

  async function read<T extends KubeObject>(
    kind: SightedKind,
    resource: Resource<T>,
  ): Promise<readonly T[]> {
    try {
      const scope = resource.namespaced && namespace !== undefined ? { namespace } : {};
      const { items, isWhole } = await listBounded(store, resource, { ...scope, signal });
      if (!isWhole) {
        unread.add(kind);
        problems.add(
          `There are more than ${OBJECTS_MAX} ${resource.plural}; the rest was not read.${canNarrow ? " Name one namespace with -n." : ""}`,
        );
      }
      return items;
    } catch (error) {
      if (isStoreError(error, "NotFound")) {
        lacking.add(resource.kind);
        problems.add(describeLack(resource.kind));
        return [];
      }
      if (!isStoreError(error, "Forbidden")) throw error;
      unread.add(kind);
      // Whether a namespace is there matters only where something is missing; it is said there.
      if (kind !== "namespaces") problems.add(describeForbidden(resource, options));
      return [];
    }
  }

  // First alone: who does not answer this will not answer the rest.
  const membership = await readMembership(store, signal);
  const [serviceExports, serviceImports, services, slices, namespaces] = await Promise.all([
    read("serviceExports", SERVICE_EXPORT),
    read("serviceImports", SERVICE_IMPORT),
    read("services", SERVICE),
    read("slices", ENDPOINT_SLICE),
    read("namespaces", NAMESPACE),
  ]);
  const { credential, properties } = membership;
  const cluster = identify(options, membership, serviceImports, problems);
  if (membership.isHubHidden) {
    problems.add(
      `It has joined a hub, which was not asked: you may not read the Secret ${HUB_SECRET.namespace}/${HUB_SECRET.name}.`,
    );
  }
  if (membership.problem !== undefined) {
    problems.add(
      `${membership.problem} Nothing of its hub is told. Join it again with "isthmus join".`,
    );
  }
  const exported = new Set(serviceExports.map(keyOf));
  const hub = membership.isHubHidden ? "" : credential?.server;
  return {
    credential,
    sighting: {
      name,
      cluster,
      problems: [...problems],
      unread: [...unread],
      ...(lacking.size > 0 && { lacking: [...lacking] }),
      ...(hub === undefined ? {} : { hub }),
      ...(membership.problem === undefined ? {} : { hubProblem: membership.problem }),
      serviceExports,
      serviceImports,
      services: services.filter(
        (service) =>
          exported.has(keyOf(service)) ||
          service.metadata.labels?.[MANAGED_LABEL] === "true" ||
          service.metadata.name?.startsWith("derived-"),
      ),
      slices: slices
        .filter(({ metadata: { labels = {}, namespace: space = "" } }) => {
          const owner = labels[KUBE_SERVICE_NAME_LABEL];
          return (
            labels[SERVICE_NAME_LABEL] !== undefined ||
            (owner !== undefined && exported.has(serviceKey({ namespace: space, name: owner })))
          );
        })
        // A slice without endpoints or without ports may come with null.
        .map((slice) => ({ ...slice, endpoints: slice.endpoints ?? [], ports: slice.ports ?? [] })),
      namespaces,
      properties,
    },
  };
}

function identify(
  { name, givenId, guess }: ClusterOptions,
  { idProperty, credential }: MembershipSight,
  serviceImports: readonly ServiceImport[],
  problems: Set<string>,
): ClusterId | undefined {
  const known = givenId ?? (idProperty === undefined ? credential?.cluster : undefined);
  const identity = resolveIdentity(name, known, idProperty);
  if (identity.ok) return identity.value;
  const parsed = parseClusterId(guess ?? "");
  const isListed = serviceImports.some(({ status }) =>
    (status?.clusters ?? []).some(({ cluster }) => cluster === guess),
  );
  if (known !== undefined || !parsed.ok || !isListed) {
    problems.add(identity.problem);
    return undefined;
  }
  problems.add(
    `It does not say who it is. By the name of its context it is taken for "${guess}"; to be sure, name it as ${guess}=${name}.`,
  );
  return parsed.value;
}

function describeForbidden(
  resource: Resource,
  { namespace, canNarrow = true }: ClusterOptions,
): string {
  const ask = canNarrow ? "Name one with -n, or ask" : "Ask";
  return namespace === undefined
    ? `You may not list ${resource.plural} of all namespaces. ${ask} for the ClusterRole view.`
    : `You may not list ${resource.plural} in namespace "${namespace}". Ask for the role view there.`;
}

/** How much of the hub is wanted: who is there, what is exported, or also every endpoint. */
export type HubDepth = "members" | "services" | "endpoints";

export async function sightHub(
  options: SightOptions & {
    readonly credential: HubCredential;
    readonly depth: HubDepth;
  },
): Promise<HubSighting> {
  const { store, clock, signal, credential, depth, boundMs = BOUND_MS } = options;
  const head = { server: credential.server, reader: credential.cluster };
  try {
    return await runBounded({ clock, boundMs, stop: signal }, async (bound) => {
      let areWhole = true;
      const list = async <T extends KubeObject>(resource: Resource<T>, isWanted = true) => {
        if (!isWanted) return [];
        const { items, isWhole } = await listBounded(store, resource, { signal: bound });
        areWhole &&= isWhole;
        return items;
      };
      const [members, leases, serviceShares, endpointShares] = await Promise.all([
        list(CLUSTER_MEMBER),
        listLeases(store, bound),
        list(SERVICE_SHARE, depth !== "members"),
        list(ENDPOINT_SHARE, depth === "endpoints"),
      ]);
      const hasShares = depth === "endpoints" && areWhole;
      return { ...head, members, leases, hasShares, serviceShares, endpointShares };
    });
  } catch (error) {
    signal.throwIfAborted();
    return {
      ...head,
      problem: `The hub could not be asked: ${options.describe(error)}`,
      members: [],
      leases: [],
      hasShares: false,
      serviceShares: [],
      endpointShares: [],
    };
  }
}

/** Of all members: cheap enough to be asked for again and again. */
export async function listLeases(store: Store, signal: AbortSignal): Promise<readonly Lease[]> {
  return (await listBounded(store, LEASE, { namespace: HUB_NAMESPACE, signal })).items;
}

function listBounded<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  options: { readonly namespace?: string; readonly signal: AbortSignal },
): ReturnType<typeof listUpTo<T>> {
  // When something was last written is told nowhere else.
  return listUpTo(store, resource, { ...options, keepsManagedFields: true, most: OBJECTS_MAX });
}
