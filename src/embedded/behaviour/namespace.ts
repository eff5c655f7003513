// Built-in behaviour: Namespaces. Their rules, the default ServiceAccount of each, and their termination:
// Active ─delete─▶ Terminating (contents go, nothing new comes in) ─empty─▶ finalized ─▶ gone

import type { KubeObject } from "../../api/object.ts";
import { isJsonArray, isJsonObject } from "../json.ts";
import { formatTime } from "../../ports/clock.ts";
import { checkLabelName } from "../name.ts";
import type { Rules } from "../rules.ts";
import { forbidden } from "../status.ts";
import { type Host, partOf, withPart } from "../system.ts";
import type { Json } from "../types.ts";
import { withMetadata } from "../write.ts";

const NAME_LABEL = "kubernetes.io/metadata.name";
const IMMORTAL = new Set(["default", "kube-system", "kube-public"]);
export const FIRST_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

export const NAMESPACE_RULES: Rules = {
  checkName: checkLabelName,
  unconditionalUpdate: true,
  returnsDeleted: true,
  refusesDeleteCollection: true,
  selectableFields: ["status.phase"],
  applyDefaults: (object) =>
    withMetadata(object, {
      ...object.metadata,
      labels: { ...object.metadata.labels, [NAME_LABEL]: object.metadata.name ?? "" },
    }),
  prepareCreate: (object) => {
    const own = finalizersOf(object).filter((name) => name !== "kubernetes");
    const finalized = withPart(object, "spec", { finalizers: [...own, "kubernetes"] });
    return withPart(finalized, "status", { phase: "Active" });
  },
  // Only the finalize subresource touches spec.finalizers.
  prepareUpdate: (next, old, context) =>
    context.subresource === "finalize"
      ? { ...old, spec: partOf(next, "spec") }
      : { ...next, spec: partOf(old, "spec") },
  validate: () => [],
  refuseDelete: (object) => {
    const name = object.metadata.name ?? "";
    return IMMORTAL.has(name)
      ? forbidden({ group: "", plural: "namespaces" }, name, "this namespace may not be deleted")
      : undefined;
  },
  prepareDelete: (object, context) => {
    if (object.metadata.deletionTimestamp !== undefined) {
      return holds(object) ? object : undefined;
    }
    const marked = withMetadata(object, { ...object.metadata, deletionTimestamp: context.time });
    return withPart(marked, "status", { phase: "Terminating" });
  },
  holdsDeletion: (object) => finalizersOf(object).length > 0,
};

function finalizersOf(namespace: KubeObject): readonly Json[] {
  const { finalizers } = partOf(namespace, "spec");
  return isJsonArray(finalizers) ? finalizers : [];
}

function holds(namespace: KubeObject): boolean {
  return finalizersOf(namespace).length > 0 || (namespace.metadata.finalizers ?? []).length > 0;
}

export function startNamespaces(host: Host): void {
  const { storage } = host.engine;
  const look = (name: string): void => {
    host.background.add(`namespace/${name}`, () => reconcile(host, name));
  };
  storage.onChange((change) => {
    if (change.resource === "namespaces") {
      if (change.type !== "DELETED") look(change.key);
      return;
    }
    const { namespace } = change.object.metadata;
    // A deletion may empty a namespace that waits; the default account comes back when it was deleted.
    if (change.type === "ADDED" || namespace === undefined) return;
    const isAccount = change.resource === "serviceaccounts" && change.type === "DELETED";
    const owner = storage.get("namespaces", namespace);
    if (isAccount || owner?.metadata.deletionTimestamp !== undefined) look(namespace);
  });
}

function reconcile(host: Host, name: string): void {
  const { storage } = host.engine;
  const namespace = storage.get("namespaces", name);
  if (namespace === undefined) return;
  if (namespace.metadata.deletionTimestamp !== undefined) {
    if (finalizersOf(namespace).includes("kubernetes")) terminate(host, namespace);
    return;
  }
  if (storage.get("serviceaccounts", `${name}/default`) !== undefined) return;
  host.system.create("serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: name },
  });
}

interface Remains {
  readonly byResource: Map<string, number>;
  readonly byFinalizer: Map<string, number>;
}

function terminate(host: Host, namespace: KubeObject): void {
  const { storage, registry } = host.engine;
  const name = namespace.metadata.name ?? "";
  const remains: Remains = { byResource: new Map(), byFinalizer: new Map() };
  for (const kind of registry.storedKinds()) {
    if (!kind.served.resource.namespaced) continue;
    for (const object of storage.list(kind.key, name)) {
      if (object.metadata.deletionTimestamp === undefined) host.system.delete(kind, object);
    }
    for (const object of storage.list(kind.key, name)) {
      const { plural, group } = kind.served.resource;
      count(remains.byResource, `${plural}.${group}`);
      for (const finalizer of object.metadata.finalizers ?? [])
        count(remains.byFinalizer, finalizer);
    }
  }
  if (remains.byResource.size > 0) {
    reportRemains(host, name, remains);
    return;
  }
  host.system.update(
    "namespaces",
    name,
    (current) => ({
      ...current,
      spec: { finalizers: finalizersOf(current).filter((one) => one !== "kubernetes") },
    }),
    "finalize",
  );
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The user reads from the namespace's status what keeps it. */
function reportRemains(host: Host, name: string, remains: Remains): void {
  const time = formatTime(host.engine.clock.now());
  const resources = render(remains.byResource, (key, n) => `${key} has ${n} resource instances`);
  const finalizers = render(remains.byFinalizer, (key, n) => `${key} in ${n} resource instances`);
  const wanted = [
    condition("NamespaceDeletionDiscoveryFailure", undefined, [
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ]),
    condition("NamespaceDeletionGroupVersionParsingFailure", undefined, [
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ]),
    condition("NamespaceDeletionContentFailure", undefined, [
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ]),
    condition(
      "NamespaceContentRemaining",
      ["SomeResourcesRemain", `Some resources are remaining: ${resources}`],
      ["ContentRemoved", "All content successfully removed"],
    ),
    condition(
      "NamespaceFinalizersRemaining",
      finalizers === ""
        ? undefined
        : [
            "SomeFinalizersRemain",
            `Some content in the namespace has finalizers remaining: ${finalizers}`,
          ],
      ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
    ),
  ];
  host.system.update(
    "namespaces",
    name,
    (current) => {
      const { conditions } = partOf(current, "status");
      const known = isJsonArray(conditions) ? conditions.filter(isJsonObject) : [];
      const next = wanted.map((one) => {
        const before = known.find((other) => other["type"] === one.type);
        const isSame = before?.["status"] === one.status && before["message"] === one.message;
        return isSame ? before : { ...one, lastTransitionTime: time };
      });
      return withPart(current, "status", { conditions: next });
    },
    "status",
  );
}

function condition(
  type: string,
  holds: readonly [string, string] | undefined,
  otherwise: readonly [string, string],
): {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
} {
  const [reason, message] = holds ?? otherwise;
  return { type, status: holds === undefined ? "False" : "True", reason, message };
}

function render(counts: Map<string, number>, line: (key: string, n: number) => string): string {
  return [...counts.entries()]
    .map(([key, n]) => line(key, n))
    .sort()
    .join(", ");
}
