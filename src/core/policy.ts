// Policy: what the administrator allows, as plain questions.

/** What to do about a missing namespace: import when it appears, make it, or leave it out for good. */
export type NamespacePolicy = "wait" | "create" | "never";

export interface Policy {
  /** No exports from and no imports into this namespace (R68). */
  readonly isDenied: (namespace: string) => boolean;
  readonly namespaces: NamespacePolicy;
}

const DENIED_BY_DEFAULT = ["kube-system", "kube-public", "kube-node-lease", "default"] as const;

export function createPolicy(settings: {
  readonly namespaces?: NamespacePolicy;
  readonly allowed?: readonly string[];
  readonly denied?: readonly string[];
}): Policy {
  const allowed = new Set(settings.allowed);
  const denied = new Set([...DENIED_BY_DEFAULT, ...(settings.denied ?? [])]);
  return {
    isDenied: (namespace) => denied.has(namespace) && !allowed.has(namespace),
    namespaces: settings.namespaces ?? "wait",
  };
}
