// Join and leave, in the cluster itself: what it knows of its hub. The Secret and ClusterProperties in; who the cluster is,
// and whether and where it is a member, out. Reads, and writes of that one Secret.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { SECRET, type Secret } from "../api/builtin.ts";
import {
  CLUSTER_ID_PROPERTY,
  type ClusterId,
  CLUSTERSET_PROPERTY,
  FIELD_MANAGER,
  HUB_CLUSTER_ID_MAX_LENGTH,
  parseClusterId,
} from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import {
  HUB_SECRET,
  type HubCredential,
  parseCredential,
  renderCredential,
} from "../hub/credential.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export interface Membership {
  /** As found; undefined when there is none. */
  readonly secret: Secret | undefined;
  /** Undefined when there is none, or none that can be read. */
  readonly credential: HubCredential | undefined;
  readonly idProperty: ClusterProperty | undefined;
  readonly setProperty: ClusterProperty | undefined;
}

export async function readMembership(store: Store, signal: AbortSignal): Promise<Membership> {
  const secret = await store.get(SECRET, HUB_SECRET, { signal });
  const parsed = secret === undefined ? undefined : parseCredential(secret);
  return {
    secret,
    credential: parsed?.ok === true ? parsed.value : undefined,
    idProperty: await getProperty(store, CLUSTER_ID_PROPERTY, signal),
    setProperty: await getProperty(store, CLUSTERSET_PROPERTY, signal),
  };
}

/** Undefined also where the kind is not known: then there is no property either. */
async function getProperty(
  store: Store,
  name: string,
  signal: AbortSignal,
): Promise<ClusterProperty | undefined> {
  try {
    return await store.get(CLUSTER_PROPERTY, { name }, { signal });
  } catch (error) {
    if (isStoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Who the cluster is to be; throws a Problem when that is not clear. */
export function chooseId(found: Membership, given: string | undefined): ClusterId {
  const written = found.idProperty?.spec?.value;
  const text = given ?? written ?? found.credential?.cluster;
  const flag = "Name the cluster with --cluster-id, such as --cluster-id east.";
  if (text === undefined) {
    throw new Problem("ClusterIdInvalid", "the cluster has no id", { hint: flag });
  }
  if (given !== undefined && written !== undefined && given !== written) {
    const message = `the cluster is to be "${given}", but its ClusterProperty ${CLUSTER_ID_PROPERTY} says "${written}"`;
    throw new Problem("ClusterIdInvalid", message, {
      hint: "Use that id, or change or delete the ClusterProperty.",
    });
  }
  const parsed = parseClusterId(text);
  if (!parsed.ok) throw new Problem("ClusterIdInvalid", parsed.problem, { hint: flag });
  if (parsed.value.length > HUB_CLUSTER_ID_MAX_LENGTH) {
    const message = `the cluster id has ${text.length} characters; a member of a hub may have ${HUB_CLUSTER_ID_MAX_LENGTH}`;
    throw new Problem("ClusterIdInvalid", message, { hint: flag });
  }
  return parsed.value;
}

/** Gives back the Secret as it is now. */
export async function writeCredential(
  store: Store,
  credential: HubCredential,
  options: { readonly before: Secret | undefined; readonly signal: AbortSignal },
): Promise<Secret> {
  const { before, signal } = options;
  const secret = renderCredential(credential, before);
  const writing = { fieldManager: FIELD_MANAGER, signal };
  return before === undefined
    ? store.create(SECRET, secret, writing)
    : store.replace(SECRET, secret, writing);
}
