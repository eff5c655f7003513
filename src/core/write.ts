// Plan: what is to be written, as data. The shell carries writes out in order and never adds any of its own.

import type { KubeObject, ObjectRef, Resource } from "../api/object.ts";

export type Write =
  | {
      readonly verb: "apply";
      readonly resource: Resource;
      /** Only the fields that are ours. */
      readonly object: KubeObject;
      readonly subresource?: "status";
    }
  | {
      /** Full replacement: takes away what an apply cannot, because somebody else added it. */
      readonly verb: "replace";
      readonly resource: Resource;
      readonly object: KubeObject;
      readonly subresource?: "status";
    }
  | {
      readonly verb: "delete";
      readonly resource: Resource;
      readonly ref: ObjectRef;
      /** Deletes this very object, not one that took its name since. */
      readonly uid: string | undefined;
    };

export function deletionOf(resource: Resource, object: KubeObject): Write {
  const { namespace, name = "", uid } = object.metadata;
  const ref = namespace === undefined ? { name } : { namespace, name };
  return { verb: "delete", resource, ref, uid };
}

/** Every entry of `wanted` is in `actual`: labels and annotations of others are none of our business. */
export function hasEntries(
  actual: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => actual?.[key] === value);
}

/** Plain data, key order aside; an absent field and an undefined one are the same. */
export function isSameData(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => isSameData(item, b[index]))
    );
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  // Loops, because endpoints are compared by the thousand, and lists of keys cost more than what they lead to.
  for (const key in left) if (!isSameData(left[key], right[key])) return false;
  for (const key in right) if (!Object.hasOwn(left, key) && right[key] !== undefined) return false;
  return true;
}
