// Hub: how this cluster shows the others that it is there: its Lease renewed, its ClusterMember's status. Three writes,
// each by one request, refused with a sentence when the hub does not know the cluster.

import { LEASE, type Lease } from "../api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { type ClusterId, FIELD_MANAGER, HUB_NAMESPACE } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { VERSION } from "../api/version.ts";
import { planConditions } from "../core/condition.ts";
import { isSameData } from "../core/write.ts";
import { type Clock, formatMicroTime, formatTime } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import { renderHolder } from "./heard.ts";
import { SYNCED } from "./registry.ts";

/** Nobody acts on it: importers judge by their own clocks. It is for people who read Leases. */
const LEASE_DURATION_SECONDS = 30;
/** Less than the time between two: a late one must not meet the next. */
const RENEWAL_BOUND_MS = 4_000;
const STATUS_BOUND_MS = 15_000;
/** Stands for a moment in place of what somebody else has written. */
const TAKEN_OVER = "being undrained";

export interface PresenceContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly cluster: ClusterId;
  readonly signal: AbortSignal;
}

/** With the uid of the Lease made at join the request cannot make a new one, which no member may. */
export async function renewLease(
  context: PresenceContext,
  renewal: {
    readonly uid: string | undefined;
    /** What changed while no agent was at work is not all published yet. */
    readonly isPublishing: boolean;
    readonly signal: AbortSignal | undefined;
  },
): Promise<void> {
  const { store, clock, cluster, signal } = context;
  const { uid } = renewal;
  if (uid === undefined) throw unknownHere(cluster, `its Lease ${HUB_NAMESPACE}/${cluster}`);
  const lease: Lease = {
    apiVersion: apiVersionOf(LEASE),
    kind: LEASE.kind,
    metadata: { namespace: HUB_NAMESPACE, name: cluster, uid },
    spec: {
      holderIdentity: renderHolder(cluster, renewal.isPublishing),
      leaseDurationSeconds: LEASE_DURATION_SECONDS,
      renewTime: formatMicroTime(clock.now()),
    },
  };
  try {
    await untilEither(signal, renewal.signal, (stop) =>
      runBounded({ clock, boundMs: RENEWAL_BOUND_MS, stop }, (bound) =>
        store.apply(LEASE, lease, { fieldManager: FIELD_MANAGER, force: true, signal: bound }),
      ),
    );
  } catch (error) {
    if (!isStoreError(error, "NotFound", "Conflict")) throw error;
    throw unknownHere(cluster, `its Lease ${HUB_NAMESPACE}/${cluster}`, error);
  }
}

/** Not AbortSignal.any: Node 20 keeps something of each as long as the longer-lived signal lives, and this is every 5 s. */
async function untilEither<X>(
  signal: AbortSignal,
  other: AbortSignal | undefined,
  attempt: (stop: AbortSignal) => Promise<X>,
): Promise<X> {
  if (other === undefined) return attempt(signal);
  other.throwIfAborted();
  const stop = new AbortController();
  const sources = [signal, other].map((source) => ({
    source,
    onAbort: () => stop.abort(source.reason),
  }));
  for (const { source, onAbort } of sources) source.addEventListener("abort", onAbort);
  try {
    return await attempt(stop.signal);
  } finally {
    for (const { source, onAbort } of sources) source.removeEventListener("abort", onAbort);
  }
}

/** Undefined when there is nothing to write. */
export async function reportSynced(
  context: PresenceContext,
  own: ClusterMember | undefined,
): Promise<ClusterMember | undefined> {
  const { clock, cluster } = context;
  if (own === undefined) throw unknownHere(cluster, "its ClusterMember");
  const status: ClusterMember["status"] = {
    agentVersion: VERSION,
    conditions: planConditions({
      before: own.status?.conditions ?? [],
      judgements: [
        {
          type: SYNCED,
          status: "True",
          reason: "Published",
          message: "Everything that the cluster exports has been published.",
        },
      ],
      generation: undefined,
      now: formatTime(clock.now()),
    }),
  };
  const { drained: _, ...told } = own.status ?? {};
  if (isSameData(told, status)) return undefined;
  return applyStatus(context, { own, status, fieldManager: FIELD_MANAGER });
}

/** As a manager of its own: what is said here and what is said of being in step never undo each other. */
export async function reportDrained(
  context: PresenceContext,
  own: ClusterMember,
  drained: string | undefined,
): Promise<void> {
  const fieldManager = `${FIELD_MANAGER}-drain`;
  const say = async (word: string | undefined): Promise<string | undefined> => {
    // With a field besides: of a status without any an API server makes null, and refuses that.
    const status = { agentVersion: VERSION, ...(word === undefined ? {} : { drained: word }) };
    const written = await applyStatus(context, { own, status, fieldManager });
    return written.status?.drained;
  };
  let kept = await say(drained);
  if (drained === undefined && kept !== undefined) {
    // Somebody else's word stays when ours goes. Another word in its place is ours alone, and can be taken back.
    await say(kept === TAKEN_OVER ? `${TAKEN_OVER} again` : TAKEN_OVER);
    kept = await say(undefined);
  }
  if (kept === drained) return;
  // An API server whose definition does not have the field either refuses it or drops it.
  throw new Error("the hub took the word and did not keep it");
}

function applyStatus(
  { store, clock, signal }: PresenceContext,
  written: {
    readonly own: ClusterMember;
    readonly status: ClusterMember["status"];
    readonly fieldManager: string;
  },
): Promise<ClusterMember> {
  const { namespace = "", name = "" } = written.own.metadata;
  // Applied without the spec: that is not ours to write, and a request for status leaves it alone.
  const object = {
    apiVersion: apiVersionOf(CLUSTER_MEMBER),
    kind: CLUSTER_MEMBER.kind,
    metadata: { namespace, name },
    status: written.status,
  } as unknown as ClusterMember;
  return runBounded({ clock, boundMs: STATUS_BOUND_MS, stop: signal }, (bound) =>
    store.apply(CLUSTER_MEMBER, object, {
      fieldManager: written.fieldManager,
      force: true,
      subresource: "status",
      signal: bound,
    }),
  );
}

export function unknownHere(cluster: ClusterId, what: string, cause?: unknown): Error {
  return new Error(
    `The hub does not have ${what}: cluster "${cluster}" was evicted, or the hub lost its data. Run "isthmus join" again.`,
    { cause },
  );
}
