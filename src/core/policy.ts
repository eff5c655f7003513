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

export function createPolicy(settings: {
  readonly namespaces?: NamespacePolicy;
  readonly allowed?: readonly string[];
  readonly denied?: readonly string[];
}): Policy {
  const allowed = new Set(settings.allowed);
  const denied = new Set([...DENIED_BY_DEFAULT, ...(settings.denied ?? [])]);
  return {
    // A cluster may be the hub as well: what members share must not be written beside what they are.
    isDenied: (namespace) =>
      (denied.has(namespace) || memberOfNamespace(namespace) !== undefined) &&
      !allowed.has(namespace),
    namespaces: settings.namespaces ?? "wait",
  };
}
