// Built-in behaviour: CustomResourceDefinitions. Their rules, and the controller that accepts names, serves and cleans up:
// created ─names accepted─▶ Established (served) ─delete─▶ Terminating (its objects go) ─▶ gone

import type { CustomResourceDefinition } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { createCustomKinds } from "../custom.ts";
import { equalJson } from "../json.ts";
import type { Kind } from "../kind.ts";
import { formatTime } from "../../ports/clock.ts";
import { type Host, partOf, withPart } from "../system.ts";
import { CLEANUP } from "./crdrules.ts";

const CRDS = "customresourcedefinitions.apiextensions.k8s.io";

type Condition = {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
};

/** `endWatches` ends the watches of kinds that changed under them, as a real server does. */
export function startCrds(host: Host, endWatches: (kinds: readonly Kind[]) => void): void {
  const { storage, registry } = host.engine;
  const look = (name: string): void => {
    host.background.add(`crd/${name}`, () => reconcile(host, name));
  };
  storage.onChange((change) => {
    if (change.resource === CRDS) {
      serve(
        host,
        change.key,
        change.type === "DELETED" ? undefined : asCrd(change.object),
        endWatches,
      );
      if (change.type !== "DELETED") look(change.key);
      // A name that is free again may be what another one waits for.
      else for (const other of storage.list(CRDS)) look(other.metadata.name ?? "");
      return;
    }
    if (
      change.type !== "DELETED" ||
      registry.findStored(change.resource)?.served.builtin !== false
    ) {
      return;
    }
    const crd = storage.get(CRDS, change.resource);
    if (crd?.metadata.deletionTimestamp !== undefined) look(change.resource);
  });
}

function asCrd(object: KubeObject): CustomResourceDefinition {
  return object as CustomResourceDefinition;
}

function hasCondition(crd: CustomResourceDefinition, type: string): boolean {
  return (crd.status?.conditions ?? []).some((one) => one.type === type && one.status === "True");
}

/** Keeps the registry in step with what is established; runs within the write, so that the next request sees it. */
function serve(
  host: Host,
  name: string,
  crd: CustomResourceDefinition | undefined,
  endWatches: (kinds: readonly Kind[]) => void,
): void {
  const { registry } = host.engine;
  const before = registry.getCustom(name);
  const isServed = crd !== undefined && hasCondition(crd, "Established");
  if (!isServed) {
    if (before.length === 0) return;
    registry.setCustom(name, []);
    host.background.add(`watches/${name}`, () => endWatches(before));
    return;
  }
  if (before.length > 0 && equalJson(served.get(before), crd.spec)) return;
  const kinds = createCustomKinds(crd);
  served.set(kinds, crd.spec);
  registry.setCustom(name, kinds);
  if (before.length > 0) host.background.add(`watches/${name}`, () => endWatches(before));
}

/** Which spec the kinds came from: a change of status alone must not end watches. */
const served = new WeakMap<readonly Kind[], CustomResourceDefinition["spec"]>();

function reconcile(host: Host, name: string): void {
  const { storage } = host.engine;
  const object = storage.get(CRDS, name);
  if (object === undefined) return;
  const crd = asCrd(object);
  if (crd.metadata.deletionTimestamp !== undefined) terminate(host, crd);
  else establish(host, crd);
}

function establish(host: Host, crd: CustomResourceDefinition): void {
  const conflict = findNameConflict(host, crd);
  const accepted: Condition =
    conflict === undefined
      ? {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
        }
      : {
          type: "NamesAccepted",
          status: "False",
          reason: conflict.reason,
          message: `${JSON.stringify(conflict.name)} is already in use`,
        };
  const established: Condition | undefined = hasCondition(crd, "Established")
    ? undefined
    : conflict === undefined
      ? {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        }
      : {
          type: "Established",
          status: "False",
          reason: "NotAccepted",
          message: "not all names are accepted",
        };
  const acceptedNames =
    conflict === undefined ? crd.spec.names : { plural: crd.spec.names.plural, kind: "" };
  setConditions(host, crd, established === undefined ? [accepted] : [accepted, established], {
    acceptedNames,
  });
}

/** Names are taken by the CRD that was established with them. */
function findNameConflict(
  host: Host,
  crd: CustomResourceDefinition,
): { readonly reason: string; readonly name: string } | undefined {
  const { names, group } = crd.spec;
  const listKind = names.listKind ?? "";
  let found: { readonly reason: string; readonly name: string } | undefined;
  for (const object of host.engine.storage.list(CRDS)) {
    const other = asCrd(object);
    if (other.spec.group !== group || other.metadata.name === crd.metadata.name) continue;
    if (!hasCondition(other, "Established")) continue;
    const kinds = new Set([other.spec.names.kind, other.spec.names.listKind ?? ""]);
    const words = new Set([
      other.spec.names.plural,
      other.spec.names.singular ?? "",
      ...(other.spec.names.shortNames ?? []),
    ]);
    if (words.has(names.plural)) found = { reason: "PluralConflict", name: names.plural };
    for (const short of names.shortNames ?? []) {
      if (words.has(short)) found = { reason: "ShortNamesConflict", name: short };
    }
    if (kinds.has(names.kind)) found = { reason: "KindConflict", name: names.kind };
    // The last complaint wins, as in the real server.
    if (kinds.has(listKind)) found = { reason: "ListKindConflict", name: listKind };
  }
  return found;
}

function terminate(host: Host, crd: CustomResourceDefinition): void {
  const { storage, registry } = host.engine;
  const name = crd.metadata.name ?? "";
  if (!(crd.metadata.finalizers ?? []).includes(CLEANUP)) return;
  setConditions(host, crd, [
    {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionInProgress",
      message: "CustomResource deletion is in progress",
    },
  ]);
  const kind = registry.findStored(name);
  if (kind !== undefined) {
    for (const object of storage.list(name)) {
      if (object.metadata.deletionTimestamp === undefined) host.system.delete(kind, object);
    }
  }
  if (storage.count(name) === 0) host.system.dropFinalizer(CRDS, crd, CLEANUP);
}

function setConditions(
  host: Host,
  crd: CustomResourceDefinition,
  wanted: readonly Condition[],
  status: Readonly<Record<string, unknown>> = {},
): void {
  const time = formatTime(host.engine.clock.now());
  host.system.update(
    CRDS,
    crd.metadata.name ?? "",
    (current) => {
      const known = asCrd(current).status?.conditions ?? [];
      const kept = known.filter((one) => wanted.every(({ type }) => type !== one.type));
      const next = wanted.map((one) => {
        const before = known.find((other) => other.type === one.type);
        const isSame = before?.status === one.status && before.reason === one.reason;
        return isSame ? before : { ...one, lastTransitionTime: time };
      });
      const conditions = [...next, ...kept];
      const changed = withPart(current, "status", { ...status, conditions });
      return equalJson(partOf(changed, "status"), partOf(current, "status")) ? current : changed;
    },
    "status",
  );
}
