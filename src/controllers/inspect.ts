// Observe, once and from outside: an API server in, what the checks look at beyond services out. Every part is asked for by itself
// and within a bound: what cannot be read is a sentence in its place, never the end of the command. Stores nothing.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  type CustomResourceDefinition,
  LEASE,
  type Lease,
  NAMESPACE,
  NODE,
  POD,
  SERVICE_CIDR,
} from "../api/builtin.ts";
import { CRDS } from "../api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import { CLUSTER_ID_PROPERTY } from "../api/names.ts";
import type { Resource } from "../api/object.ts";
import { nameOf } from "../core/check/crd.ts";
import {
  type Answer,
  answered,
  type CrdFacts,
  type Inspection,
  type LeaseFacts,
  type RangeFacts,
  unread,
} from "../core/check/inspection.ts";
import { isYoungLease } from "../core/check/lease.ts";
import { resolveIdentity } from "../core/identity.ts";
import { readKubeadm, readPodRanges, readServiceCidrs } from "../core/topology.ts";
import { AGENT_LEASE } from "../hub/local.ts";
import { sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import { findAgentDenials, findCentralDenials, findReaderDenials } from "./inspectAccess.ts";
import { inspectDns, inspectProxy } from "./inspectDns.ts";
import { listUpTo } from "./list.ts";
import type { SightOptions } from "./sight.ts";

export interface InspectOptions extends SightOptions {
  readonly name: string;
  /** Who it is, where somebody says so: on the command line, or the Secret of its hub. */
  readonly knownId?: string | undefined;
  readonly isJoined: boolean;
  /** The agent's Lease some time ago: what has been waited for already is not waited for again. */
  readonly leaseBefore?: LeaseGlimpse | undefined;
  /** What the API server says of itself, and what time it has. */
  readonly askVersion: (
    signal: AbortSignal,
  ) => Promise<{ readonly version: string; readonly timeMs: number | undefined }>;
}

export interface LeaseGlimpse {
  readonly lease: Lease;
  /** Monotonic. */
  readonly atMs: number;
}

/** Undefined when there is none, or it cannot be read: that is told later. */
export async function glimpseAgentLease({
  store,
  clock,
  signal,
  boundMs = BOUND_MS,
}: Pick<SightOptions, "store" | "clock" | "signal" | "boundMs">): Promise<
  LeaseGlimpse | undefined
> {
  try {
    const ask = (bound: AbortSignal) => store.get(LEASE, AGENT_LEASE, { signal: bound });
    const lease = await runBounded({ clock, boundMs, stop: signal }, ask);
    return lease === undefined ? undefined : { lease, atMs: clock.monotonic() };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Asks, and words what comes of it. `what` reads on from "You may not". */
export type Attempt = <T>(
  what: string,
  ask: (signal: AbortSignal) => Promise<T>,
) => Promise<Answer<T>>;

const BOUND_MS = 15_000;
const NODES_MAX = 5_000;
/** A look at some pods shows a wrong range as well as a look at all of them. */
const PODS_LOOKED_AT = 500;
/** An agent renews every few seconds: who does not within this is not at work. */
const WATCH_MS = 13_000;
const WATCH_EVERY_MS = 1_000;

export async function inspectCluster(options: InspectOptions): Promise<Inspection> {
  const { store, clock, signal, name, isJoined, boundMs = BOUND_MS } = options;
  const attempt: Attempt = async (what, ask) => {
    try {
      return answered(await runBounded({ clock, boundMs, stop: signal }, ask));
    } catch (error) {
      signal.throwIfAborted();
      if (isStoreError(error, "Forbidden")) return unread(`You may not ${what}.`);
      if (isStoreError(error, "NotFound")) {
        return unread(`The API server does not know how to ${what}.`);
      }
      return unread(options.describe(error));
    }
  };
  const time = await attempt("get /version", async (bound) => {
    const before = clock.now();
    const { version, timeMs } = await options.askVersion(bound);
    // The server told its time somewhere between the two, in whole seconds, rounded down.
    const here = (before + clock.now()) / 2;
    return { version, aheadMs: timeMs === undefined ? undefined : timeMs + 500 - here };
  });
  const [uid, identity, crds, reader, central, agent, agentLease, ranges, dns, proxy] =
    await Promise.all([
      attempt("get the namespace kube-system", async (bound) => {
        const found = await store.get(NAMESPACE, { name: "kube-system" }, { signal: bound });
        return found?.metadata.uid;
      }),
      inspectIdentity(options, attempt),
      inspectCrds(store, attempt),
      attempt("ask what you may do", (bound) => findReaderDenials(store, bound)),
      attempt("ask what you may do", (bound) => findCentralDenials(store, bound)),
      isJoined
        ? attempt("ask what the agent may do (create subjectaccessreviews)", (bound) =>
            findAgentDenials(store, bound),
          )
        : undefined,
      isJoined ? watchAgentLease(options, attempt) : answered(undefined),
      inspectRanges(store, attempt),
      inspectDns(store, attempt),
      inspectProxy(store, attempt),
    ]);
  return {
    name,
    uid,
    identity,
    version: readVersion(time),
    aheadMs: readAhead(time),
    crds,
    access: { reader, central, ...(agent === undefined ? {} : { agent }) },
    agentLease,
    ranges,
    dns,
    proxy,
  };
}

function readVersion(time: Answer<{ readonly version: string }>): Answer<string> {
  if (!time.isRead) return time;
  const { version } = time.value;
  return version === "" ? unread("The API server does not tell its version.") : answered(version);
}

function readAhead(time: Answer<{ readonly aheadMs: number | undefined }>): Answer<number> {
  if (!time.isRead) return time;
  const { aheadMs } = time.value;
  return aheadMs === undefined ? unread("Its answers carry no date.") : answered(aheadMs);
}

function inspectIdentity({ store, name, knownId }: InspectOptions, attempt: Attempt) {
  return attempt("get clusterproperties", async (signal) => {
    const property = await getProperty(store, signal);
    const isNamed = knownId !== undefined || property?.spec?.value !== undefined;
    return isNamed ? resolveIdentity(name, knownId, property) : undefined;
  });
}

/** Where the kind is not known there is no property either. */
async function getProperty(
  store: Store,
  signal: AbortSignal,
): Promise<ClusterProperty | undefined> {
  try {
    return await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
  } catch (error) {
    if (!isStoreError(error, "NotFound")) throw error;
    return undefined;
  }
}

async function inspectCrds(store: Store, attempt: Attempt): Promise<CrdFacts> {
  const found = await attempt("get customresourcedefinitions", async (signal) => {
    const all = await Promise.all(
      CRDS.map((crd) => store.get(CUSTOM_RESOURCE_DEFINITION, { name: nameOf(crd) }, { signal })),
    );
    return new Map(
      all.flatMap((crd): (readonly [string, CustomResourceDefinition])[] =>
        crd === undefined ? [] : [[nameOf(crd), crd]],
      ),
    );
  });
  if (found.isRead) return { found, served: [], unknown: [] };
  const kinds: readonly Resource[] = [SERVICE_EXPORT, SERVICE_IMPORT, CLUSTER_PROPERTY];
  const served: string[] = [];
  const unknown: string[] = [];
  await Promise.all(
    kinds.map((resource) =>
      attempt(`list ${resource.plural}`, async (signal) => {
        try {
          await store.list(resource, { limit: 1, signal });
          served.push(resource.kind);
        } catch (error) {
          if (!isStoreError(error, "NotFound")) throw error;
          unknown.push(resource.kind);
        }
      }),
    ),
  );
  return { found, served: served.toSorted(), unknown: unknown.toSorted() };
}

/** Until it changes, where it looks old: its age alone is told by two clocks. */
function watchAgentLease(
  { store, clock, leaseBefore, boundMs = BOUND_MS }: InspectOptions,
  attempt: Attempt,
): Promise<Answer<LeaseFacts | undefined>> {
  const { namespace, name } = AGENT_LEASE;
  return attempt(`get the Lease ${namespace}/${name}`, async (signal) => {
    const first = await store.get(LEASE, AGENT_LEASE, { signal });
    if (first === undefined) return undefined;
    const before = leaseBefore ?? { lease: first, atMs: clock.monotonic() };
    const { resourceVersion } = before.lease.metadata;
    const elapsed = (): number => clock.monotonic() - before.atMs;
    let lease = first;
    for (;;) {
      const isRenewed = lease.metadata.resourceVersion !== resourceVersion;
      const isKnown = isRenewed || isYoungLease(lease.spec?.renewTime, clock.now());
      if (isKnown || elapsed() + WATCH_EVERY_MS > Math.min(WATCH_MS, boundMs)) {
        return { lease, isRenewed, watchedMs: elapsed() };
      }
      await sleep(clock, WATCH_EVERY_MS, signal);
      lease = (await store.get(LEASE, AGENT_LEASE, { signal })) ?? lease;
    }
  });
}

async function inspectRanges(store: Store, attempt: Attempt): Promise<RangeFacts> {
  const [podCIDRs, serviceCIDRs, pods] = await Promise.all([
    attempt("list nodes", async (signal) => {
      const { items } = await listUpTo(store, NODE, { most: NODES_MAX, signal });
      return readPodRanges(items, await readInstaller(store, signal)).cidrs;
    }),
    attempt("list servicecidrs", async (signal) => {
      const { items } = await store.list(SERVICE_CIDR, { limit: 100, signal });
      return readServiceCidrs(items);
    }),
    attempt("list pods", async (signal) => {
      return (await store.list(POD, { limit: PODS_LOOKED_AT, signal })).items;
    }),
  ]);
  return { podCIDRs, serviceCIDRs, pods };
}

/** What kubeadm wrote down; others write down nothing, and not everybody may read it. */
async function readInstaller(store: Store, signal: AbortSignal) {
  try {
    const ref = { namespace: "kube-system", name: "kubeadm-config" };
    return readKubeadm(await store.get(CONFIG_MAP, ref, { signal }));
  } catch (error) {
    if (!isStoreError(error, "Forbidden")) throw error;
    return readKubeadm(undefined);
  }
}
