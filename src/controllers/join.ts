// Join: a plan in, the cluster a member out. Runs again where it stopped: the claim is written down in the cluster before the
// hub hears of it, the credential last.
//
//   nothing ─▶ Secret with the claim ─▶ registered on the hub ─▶ Secret with the token ─▶ CRDs, agent's roles, properties
//      ▲                │
//      └── refused ─────┘ (only if this attempt wrote it)

import { CLUSTER_PROPERTY } from "../api/about.ts";
import { NAMESPACE, SECRET } from "../api/builtin.ts";
import { MEMBER_CRDS } from "../api/crds.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { FIELD_MANAGER, memberNamespace, SYSTEM_NAMESPACE } from "../api/names.ts";
import { isProblem, Problem } from "../api/problem.ts";
import { isSameData } from "../core/write.ts";
import { HUB_SECRET, type HubCredential } from "../hub/credential.ts";
import { renderAgentAccess } from "../hub/local.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { installCrds } from "./crd.ts";
import { findMemberOverlaps, type JoinPlan } from "./joinplan.ts";
import { writeCredential } from "./membership.ts";
import { type Placed, placeObjects } from "./place.ts";
import { checkToken, declareAnew, type HubDoor, persist, registerCluster } from "./register.ts";

export interface JoinOptions {
  readonly store: Store;
  readonly door: HubDoor;
  /** The hub, as the cluster itself sees it. */
  readonly connect: (credential: HubCredential) => Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface JoinResult {
  /** In the cluster. */
  readonly placed: readonly Placed[];
  /** It was a member, and the hub has other declarations of it now. */
  readonly isDeclaredAnew: boolean;
  /** Sentences. */
  readonly warnings: readonly string[];
}

const REMOVAL_MS = 60_000;
const REMOVAL_POLL_MS = 250;

export async function carryOutJoin(options: JoinOptions, plan: JoinPlan): Promise<JoinResult> {
  const { store, clock, signal } = options;
  const made: Placed[] = [];
  const credential = plan.isMember
    ? plan.credential
    : { ...plan.credential, token: await register(options, plan, made) };
  const isAdmin = options.door.joinToken === undefined;
  const isDeclaredAnew = plan.isMember && isAdmin && (await declareAnew({ ...options, ...plan }));
  await installCrds({ store, crds: MEMBER_CRDS, clock, signal });
  const placed = await placeObjects(store, renderAgentAccess(), signal);
  await createProperties(options, plan);
  return {
    placed: placed.map((one) => made.find(({ resource }) => resource === one.resource) ?? one),
    isDeclaredAnew,
    warnings: await lookAround(options, plan, credential),
  };
}

/** Gives back the token, which is in the Secret then. Adds to `made` what it had to place first. */
async function register(options: JoinOptions, plan: JoinPlan, made: Placed[]): Promise<string> {
  const { store, door, clock, signal } = options;
  const { cluster, spec, found } = plan;
  await checkToken({ door, cluster, signal });
  const system = renderAgentAccess().filter(({ resource }) => resource === NAMESPACE);
  await awaitGone(options);
  made.push(...(await placeObjects(store, system, signal)));
  const { token: _, ...claimed } = plan.credential;
  let current: HubCredential = claimed;
  let secret = await writeCredential(store, current, { before: found.secret, signal });
  const write = async (next: HubCredential): Promise<void> => {
    current = next;
    secret = await writeCredential(store, next, { before: secret, signal });
  };
  const { namespaceUid } = current;
  try {
    const token = await registerCluster({
      door,
      cluster,
      claim: current.claim,
      spec,
      ...(namespaceUid !== undefined && { namespaceUid }),
      onNamespace: async (uid) => {
        if (uid !== current.namespaceUid) await write({ ...current, namespaceUid: uid });
      },
      clock,
      signal,
    });
    await write({ ...current, token });
    return token;
  } catch (error) {
    const isRefused = isProblem(error, "ClusterIdTaken", "JoinTokenUsed", "JoinTokenRefused");
    if (isRefused && found.secret === undefined) {
      await store.delete(SECRET, HUB_SECRET, { signal });
    }
    throw error;
  }
}

/** A cluster that left a moment ago may still be removing its namespace, and nothing can be written into it until it has. */
async function awaitGone({ store, clock, signal }: JoinOptions): Promise<void> {
  const deadline = clock.monotonic() + REMOVAL_MS;
  for (;;) {
    const namespace = await store.get(NAMESPACE, { name: SYSTEM_NAMESPACE }, { signal });
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    if (clock.monotonic() >= deadline) {
      const message = `the cluster's namespace ${SYSTEM_NAMESPACE} is still being removed`;
      throw new Problem("RequestRefused", message, { hint: "Try again in a moment." });
    }
    await sleep(clock, REMOVAL_POLL_MS, signal);
  }
}

async function createProperties({ store, signal }: JoinOptions, plan: JoinPlan): Promise<void> {
  for (const property of plan.properties) {
    try {
      await store.create(CLUSTER_PROPERTY, property, { fieldManager: FIELD_MANAGER, signal });
    } catch (error) {
      if (!isStoreError(error, "AlreadyExists")) throw error;
    }
  }
}

/** With the cluster's own credential, which shows that it works. */
async function lookAround(
  options: JoinOptions,
  plan: JoinPlan,
  credential: HubCredential,
): Promise<readonly string[]> {
  const { connect, door, signal } = options;
  const { cluster, spec } = plan;
  const hub = connect(credential);
  const ref = { namespace: memberNamespace(cluster), name: cluster };
  let member: ClusterMember | undefined;
  try {
    member = await persist(options, isUnknownYet, () => hub.get(CLUSTER_MEMBER, ref, { signal }));
  } catch (error) {
    // The address is for the cluster, and an administrator may sit where it does not lead anywhere.
    if (door.joinToken !== undefined || !isStoreError(error, "Unreachable", "Timeout")) throw error;
    return [
      `The hub does not answer at ${credential.server} from here, so the cluster's credential was not tried: ${error.message}. If the cluster cannot reach that address either, run isthmus leave with --hub-kubeconfig and join again with another --hub-server.`,
    ];
  }
  const declared = member?.spec ?? spec;
  const own = { cluster, spec: declared };
  const overlaps = await persist(options, isUnknownYet, () => findMemberOverlaps(hub, own, signal));
  return [
    ...(isSameData(declared, spec)
      ? []
      : [
          `The hub has other declarations for this cluster than were found or given now (pods ${list(declared.podCIDRs)}; Services ${list(declared.serviceCIDRs)}). An administrator of the hub changes them: isthmus join with --hub-kubeconfig.`,
        ]),
    ...overlaps,
  ];
}

/** The roles and the account behind the credential are as new as the credential. */
function isUnknownYet(error: unknown): boolean {
  return isStoreError(error, "Forbidden", "Unauthorized");
}

function list(cidrs: readonly string[] | undefined): string {
  return cidrs === undefined || cidrs.length === 0 ? "none" : cidrs.join(", ");
}
