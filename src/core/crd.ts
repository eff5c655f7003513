// Installing a CRD: from what the server has and what we bring to one decision. Never goes back to an older schema,
// never drops a version that objects may still be stored under. Pure.

import type { CustomResourceDefinition } from "../api/builtin.ts";
import { compareRelease, describeRelease, findVersionAhead, readRelease } from "./release.ts";

export type CrdPlan =
  | { readonly action: "create"; readonly crd: CustomResourceDefinition }
  | {
      readonly action: "update";
      /** To be applied: fields, labels and annotations it does not name stay as they are. */
      readonly crd: CustomResourceDefinition;
      /** The release that is there now; absent when it says none. */
      readonly from: string | undefined;
    }
  | { readonly action: "unchanged" }
  | {
      readonly action: "keep";
      /** What is there, and newer than ours: "v0.6.0", or a version such as "v1". */
      readonly newer: string;
      /** Versions of ours that the newer one does not serve. */
      readonly missing: readonly string[];
    }
  /** It is being deleted; plan again when it is gone. */
  | { readonly action: "wait" };

export function planCrdInstall(
  existing: CustomResourceDefinition | undefined,
  desired: CustomResourceDefinition,
): CrdPlan {
  if (existing === undefined) {
    return { action: "create", crd: desired };
  }
  if (existing.metadata.deletionTimestamp !== undefined) {
    return { action: "wait" };
  }
  const present = readRelease(existing, desired);
  const order = compareRelease(present, readRelease(desired, desired));
  const ahead = findVersionAhead(existing.spec, desired.spec);
  if (order > 0 || ahead !== undefined) {
    const served = existing.spec.versions.filter((version) => version.served);
    return {
      action: "keep",
      newer: order > 0 ? describeRelease(present) : (ahead ?? ""),
      missing: desired.spec.versions
        .map((version) => version.name)
        .filter((name) => !served.some((version) => version.name === name)),
    };
  }
  // A copy without a release, perhaps installed by another tool, is left alone while it has all that we need.
  const mayStay = order === 0 || present.release === undefined;
  if (mayStay && covers(existing.spec, desired.spec)) {
    return { action: "unchanged" };
  }
  return {
    action: "update",
    crd: keepStoredVersions(existing, desired),
    from: present.release && describeRelease(present),
  };
}

/** The API server refuses to lose a version that is stored, and its objects would be unreadable. */
function keepStoredVersions(
  existing: CustomResourceDefinition,
  desired: CustomResourceDefinition,
): CustomResourceDefinition {
  const kept = existing.spec.versions.filter(
    (version) =>
      existing.status?.storedVersions?.includes(version.name) &&
      !desired.spec.versions.some(({ name }) => name === version.name),
  );
  return {
    ...desired,
    spec: {
      ...desired.spec,
      versions: [
        ...desired.spec.versions,
        ...kept.map((version) => ({ ...version, storage: false })),
      ],
    },
  };
}

/** Whether `actual` has everything of `needed`. Defaults and additions of others do not count against it. */
function covers(actual: unknown, needed: unknown): boolean {
  if (Array.isArray(needed)) {
    return Array.isArray(actual) && needed.every((item) => coversItem(actual, item));
  }
  if (!isRecord(needed)) {
    return actual === needed;
  }
  return (
    isRecord(actual) &&
    Object.entries(needed).every(([key, value]) =>
      key === "openAPIV3Schema"
        ? schemaCovers(actual[key], value)
        : key === "description" || covers(actual[key], value),
    )
  );
}

/** Versions and columns are known by name, other items by value. */
function coversItem(actual: readonly unknown[], needed: unknown): boolean {
  return actual.some(
    (item) =>
      (!isRecord(item) || !isRecord(needed) || item["name"] === needed["name"]) &&
      covers(item, needed),
  );
}

/** Wording aside, equal keyword by keyword, for a keyword more may refuse our objects; further fields are welcome. */
function schemaCovers(actual: unknown, needed: unknown): boolean {
  if (!isRecord(needed) || !isRecord(actual)) {
    return sameValue(actual, needed);
  }
  const keywords = new Set([...Object.keys(actual), ...Object.keys(needed)]);
  keywords.delete("description");
  return [...keywords].every((keyword) => {
    const [theirs, ours] = [actual[keyword], needed[keyword]];
    switch (keyword) {
      case "properties":
        return Object.entries(ours ?? {}).every(
          ([name, property]) => isRecord(theirs) && schemaCovers(theirs[name], property),
        );
      case "items":
      case "additionalProperties":
        return schemaCovers(theirs, ours);
      default:
        return sameValue(theirs, ours);
    }
  });
}

/** Lists inside a schema (required, enum, map keys) are sets. */
function sameValue(a: unknown, b: unknown): boolean {
  return Array.isArray(a) && Array.isArray(b)
    ? a.length === b.length && a.every((item) => b.includes(item))
    : a === b;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
