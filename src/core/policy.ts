// Policy: what the administrator allows, as plain questions.

import { HUB_NAMESPACE, memberOfNamespace, SYSTEM_NAMESPACE } from "../api/names.ts";

/** What to do about a missing namespace: import when it appears, make it, or leave it out for good. */
export type NamespacePolicy = "wait" | "create" | "never";

export interface Policy {
  /** No exports from and no imports into this namespace (R68). */
  readonly isDenied: (namespace: string) => boolean;
  readonly namespaces: NamespacePolicy;
}

const DENIED_BY_DEFAULT = [
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "default",
  SYSTEM_NAMESPACE,
  HUB_NAMESPACE,
] as const;

/** Which namespaces are denied beside those that always are, and which of them all are not. */
export interface NamespaceLists {
  readonly allowed?: readonly string[];
  readonly denied?: readonly string[];
}

export function createPolicy(
  settings: NamespaceLists & { readonly namespaces?: NamespacePolicy },
): Policy {
  const denied = new Set(listDenied(settings));
  return {
    // A cluster may be the hub as well: what members share must not be written beside what they are.
    isDenied: (namespace) =>
      denied.has(namespace) ||
      (memberOfNamespace(namespace) !== undefined && !settings.allowed?.includes(namespace)),
    namespaces: settings.namespaces ?? "wait",
  };
}

/** Each once: those of everybody first, then in the order given. */
export function listDenied({ allowed = [], denied = [] }: NamespaceLists): readonly string[] {
  const all = new Set<string>([...DENIED_BY_DEFAULT, ...denied]);
  return [...all].filter((namespace) => !allowed.includes(namespace));
}
