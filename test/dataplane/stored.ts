// Data plane: what API servers hold of a story: its objects, each with the version that it was last written in, and whatever holds
// objects of ours back from being deleted. Only reads.

import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { MEMBERS } from "./plan.ts";
import type { Shop } from "./shop.ts";

/** Exports, imports, Services and imported slices of all members, and all shares on the hub: place and name → uid and version. */
export async function listStored(shop: Shop): Promise<Readonly<Record<string, string>>> {
  const { namespace, bed } = shop;
  const list = async (
    place: string,
    store: KubeClient,
    resource: Resource,
    selection: { readonly namespace?: string; readonly labelSelector?: string },
  ): Promise<readonly (readonly [string, string])[]> =>
    (await store.list(resource, selection)).items.map(({ metadata }) => [
      `${place}: ${resource.kind} ${metadata.namespace}/${metadata.name}`,
      `${metadata.uid} at ${metadata.resourceVersion}`,
    ]);
  const imported = { namespace, labelSelector: SERVICE_NAME_LABEL };
  const ofMembers = MEMBERS.flatMap((id) => [
    list(id, shop.store(id), SERVICE_EXPORT, { namespace }),
    list(id, shop.store(id), SERVICE_IMPORT, { namespace }),
    list(id, shop.store(id), SERVICE, { namespace }),
    list(id, shop.store(id), ENDPOINT_SLICE, imported),
  ]);
  const ofHub =
    bed.hub === undefined
      ? []
      : [
          list("hub", bed.hub.store, SERVICE_SHARE, {}),
          list("hub", bed.hub.store, ENDPOINT_SHARE, {}),
        ];
  return Object.fromEntries((await Promise.all([...ofMembers, ...ofHub])).flat());
}

interface ApiResources {
  readonly resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

/** On objects of any kind that the server has: those of ours, by their name, and whatever they wait for. */
export async function listFinalizers(store: KubeClient): Promise<readonly string[]> {
  const ask = async <T>(path: string): Promise<T> => (await store.request("GET", path)).body as T;
  const { groups } = await ask<{
    readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  }>("/apis");
  const roots = [
    "/api/v1",
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const found = roots.map(async (root) => {
    const { resources = [] } = await ask<ApiResources>(root);
    const listable = resources.filter(({ verbs }) => verbs.includes("list"));
    const lists = await Promise.all(
      listable.map(({ name }) =>
        ask<{ readonly items?: readonly KubeObject[] }>(`${root}/${name}`),
      ),
    );
    return lists.flatMap(({ items = [] }) => items);
  });
  const objects = (await Promise.all(found)).flat();
  return objects.flatMap(({ metadata }) =>
    (metadata.finalizers ?? []).map(
      (finalizer) => `${metadata.namespace ?? ""}/${metadata.name}: ${finalizer}`,
    ),
  );
}
