import { expect, test } from "vitest";

import { NAMESPACE, SERVICE_ACCOUNT } from "../api/builtin.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import type { Store } from "../ports/store.ts";
import { placeObjects } from "./place.ts";

const HELMS = { "app.kubernetes.io/managed-by": "Helm" };

/** What is there, and what was applied. */
function aStore(labels: Readonly<Record<string, string>> | undefined) {
  const applied: string[] = [];
  const store: Pick<Store, "get" | "apply"> = {
    get: async <T extends KubeObject>({ kind }: Resource<T>, ref: { readonly name: string }) =>
      (labels && { kind, metadata: { ...ref, labels, resourceVersion: "1" } }) as unknown as T,
    apply: async <T extends KubeObject>(_: Resource<T>, object: T) => {
      applied.push(object.kind);
      return { ...object, metadata: { ...object.metadata, resourceVersion: "2" } };
    },
  };
  return { applied, store: store as Store };
}

async function place(resource: Resource, labels: Readonly<Record<string, string>> | undefined) {
  const { store, applied } = aStore(labels);
  const metadata = { name: "isthmus-agent", ...(resource.namespaced && { namespace: "system" }) };
  const object = { apiVersion: "v1", kind: resource.kind, metadata };
  const { signal } = new AbortController();
  const [placed] = await placeObjects(store, [{ resource, object }], signal);
  return { outcome: placed?.outcome, applied };
}

test.each<[string, Resource, Readonly<Record<string, string>> | undefined, string, number]>([
  ["what is not there is made", SERVICE_ACCOUNT, undefined, "created", 1],
  ["what is there is brought up to date", SERVICE_ACCOUNT, {}, "updated", 1],
  ["what Helm installed is left to it", SERVICE_ACCOUNT, HELMS, "left to Helm", 0],
  ["a Namespace is marked, whoever made it", NAMESPACE, HELMS, "updated", 1],
])("%s", async (_, resource, labels, outcome, writes) => {
  const placed = await place(resource, labels);
  expect(placed.outcome).toBe(outcome);
  expect(placed.applied).toHaveLength(writes);
});
