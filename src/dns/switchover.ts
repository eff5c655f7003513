// CoreDNS, switching: a cluster and an edit of its Corefile in, the ConfigMap and CoreDNS's permissions changed out.
// Permissions come before the Corefile that needs them and go after it: a CoreDNS that may not list ServiceImports never
// counts itself as synced, and answers SERVFAIL to names of cluster.local that do not exist.

import { CONFIG_MAP } from "../api/builtin.ts";
import { FIELD_MANAGER, PART_OF_LABEL } from "../api/names.ts";
import type { ObjectRef, Resource } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING } from "../api/rbac.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import {
  ACCESS_NAME,
  type Corefile,
  type CoreDnsPlace,
  readCorefile,
  renderAccess,
} from "./coredns.ts";
import { CorefileError } from "./corefileSyntax.ts";

/** Pure; may throw a CorefileError. */
export type CorefileEdit = (text: string) => string;

export interface CorefileChange extends Corefile {
  readonly edited: string;
}

/** How often others may come in between. */
const ATTEMPTS = 8;

export async function planCorefile(
  store: Store,
  work: { readonly place: CoreDnsPlace; readonly edit: CorefileEdit; readonly signal: AbortSignal },
): Promise<CorefileChange> {
  const corefile = await readCorefile(store, work.place, work.signal);
  return { ...corefile, edited: applyEdit(corefile.text, work.edit) };
}

/** What was written, or what is there already. */
export async function writeCorefile(
  store: Store,
  work: { readonly place: CoreDnsPlace; readonly edit: CorefileEdit; readonly signal: AbortSignal },
): Promise<CorefileChange> {
  const { namespace, configMap: name, configKey } = work.place;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const change = await planCorefile(store, work);
    if (change.edited === change.text) return change;
    const { configMap, edited } = change;
    if ("immutable" in configMap && configMap.immutable === true) {
      throw new Problem("CorefileUnchanged", `the ConfigMap ${namespace}/${name} is immutable`, {
        hint: "Change the Corefile where the ConfigMap comes from.",
      });
    }
    const data = { ...configMap.data, [configKey]: edited };
    try {
      const options = { fieldManager: FIELD_MANAGER, signal: work.signal };
      // With the version that was read: an edit that came in between is read again, never overwritten.
      await store.replace(CONFIG_MAP, { ...configMap, data }, options);
      return change;
    } catch (error) {
      if (!isStoreError(error, "Conflict")) throw error;
    }
  }
  throw new Problem(
    "CorefileUnchanged",
    `others changed the ConfigMap ${namespace}/${name} each of ${ATTEMPTS} times that it was about to be written`,
    { hint: "Find out who does, and run this again." },
  );
}

function applyEdit(text: string, edit: CorefileEdit): string {
  try {
    return edit(text);
  } catch (error) {
    if (!(error instanceof CorefileError)) throw error;
    throw new Problem("CorefileUnchanged", lowerFirst(error.message), { cause: error });
  }
}

function lowerFirst(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/u, "");
}

export async function grantAccess(
  store: Store,
  account: Required<ObjectRef>,
  signal: AbortSignal,
): Promise<void> {
  const { role, binding } = renderAccess(account);
  const options = { fieldManager: FIELD_MANAGER, force: true, signal };
  await store.apply(CLUSTER_ROLE, role, options);
  await store.apply(CLUSTER_ROLE_BINDING, binding, options);
}

/** How many of the two objects were there and ours. */
export async function revokeAccess(store: Store, signal: AbortSignal): Promise<number> {
  const resources: readonly Resource[] = [CLUSTER_ROLE_BINDING, CLUSTER_ROLE];
  let removed = 0;
  for (const resource of resources) {
    const found = await store.get(resource, { name: ACCESS_NAME }, { signal });
    const { labels, uid } = found?.metadata ?? {};
    if (labels?.[PART_OF_LABEL] !== "isthmus" || uid === undefined) continue;
    if (await store.delete(resource, { name: ACCESS_NAME }, { uid, signal })) removed += 1;
  }
  return removed;
}
