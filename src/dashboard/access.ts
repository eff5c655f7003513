// Dashboard: what a reader may see of a cluster's properties in, who it is out; and what may not be read, as a sentence.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, parseClusterId } from "../api/names.ts";
import type { Resource } from "../api/object.ts";
import { resolveIdentity } from "../core/identity.ts";
import { HUB_SECRET } from "../hub/credential.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { InformerError } from "../runtime/informer.ts";

/** Of a cluster that says that it is a member. */
export const HUB_HIDDEN = `It has joined a hub, which is not asked: you may not read the Secret ${HUB_SECRET.namespace}/${HUB_SECRET.name}.`;

/** All of them; where that is not allowed, the one that says who the cluster is. */
export async function readProperties(
  store: Store,
  signal: AbortSignal,
): Promise<readonly ClusterProperty[]> {
  try {
    return (await store.list(CLUSTER_PROPERTY, { signal })).items;
  } catch (error) {
    if (isStoreError(error, "NotFound")) return [];
    if (!isStoreError(error, "Forbidden")) throw error;
  }
  try {
    const property = await store.get(CLUSTER_PROPERTY, { name: CLUSTER_ID_PROPERTY }, { signal });
    return property === undefined ? [] : [property];
  } catch (error) {
    if (!isStoreError(error, "Forbidden", "NotFound")) throw error;
    return [];
  }
}

/** What a cluster does not show of itself, by kind. */
export interface Troubles {
  /** True: there is something else to say. */
  note(resource: Resource, failed: InformerError): boolean;
  end(resource: Resource): boolean;
  /** It failed, and has not been read since. */
  has(resource: Resource): boolean;
  /** Of a server that is away altogether only what it refused before: the rest is said by that. */
  sentences(isAway: boolean): readonly string[];
}

export function createTroubles(describe: (error: unknown) => string): Troubles {
  /** No sentence: once is no news, a watch may end at any time. */
  const troubles = new Map<string, { readonly refusal?: string; readonly failure?: string }>();
  return {
    note({ plural, kind }, failed) {
      if (failed.during !== "list" && failed.during !== "watch") return false;
      const refusal = describeRefusal({ plural, kind }, failed.error);
      const before = troubles.get(plural);
      if (refusal !== undefined) troubles.set(plural, { refusal });
      else if (failed.isRepeated) {
        const failure = `Its ${plural} cannot be read just now, and are shown as they were last seen, if ever: ${describe(failed.error)}`;
        troubles.set(plural, { failure });
      } else troubles.set(plural, before ?? {});
      const now = troubles.get(plural);
      return before?.refusal !== now?.refusal || before?.failure !== now?.failure;
    },
    end: ({ plural }) => troubles.delete(plural),
    has: ({ plural }) => troubles.has(plural),
    sentences: (isAway) =>
      [...troubles.values()].flatMap(({ refusal, failure }) => {
        return refusal ?? (isAway ? undefined : failure) ?? [];
      }),
  };
}

function describeRefusal(
  resource: Pick<Resource, "plural" | "kind">,
  error: unknown,
): string | undefined {
  if (isStoreError(error, "Forbidden")) {
    return `You may not list ${resource.plural} of all namespaces: what it has of them is not shown. Ask for the ClusterRole view.`;
  }
  if (isStoreError(error, "NotFound")) {
    return `The cluster does not know ${resource.kind}s. "isthmus central" and "isthmus join" install what is missing, and so does "isthmus crds install".`;
  }
  return undefined;
}

/** As `isthmus get clusters` would call it: a guess counts only if its imports know a cluster of that name. */
export function identify(
  called: {
    readonly name: string;
    readonly known: string | undefined;
    readonly guess?: string | undefined;
  },
  property: ClusterProperty | undefined,
  isListed: (id: string) => boolean,
): { readonly id: ClusterId | undefined; readonly problem: string | undefined } {
  const identity = resolveIdentity(called.name, called.known, property);
  if (identity.ok) return { id: identity.value, problem: undefined };
  const guessed = parseClusterId(called.guess ?? "");
  const isBelieved = called.known === undefined && guessed.ok && isListed(guessed.value);
  return { id: isBelieved ? guessed.value : undefined, problem: identity.problem };
}
