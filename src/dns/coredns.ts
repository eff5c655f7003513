// CoreDNS, observing: a cluster in, what its CoreDNS runs with out, and the objects with which it may read ServiceImports.
// Decides nothing about the Corefile, writes nothing.

import { CONFIG_MAP, type ConfigMap } from "../api/builtin.ts";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import { MCS_GROUP, PART_OF_LABEL } from "../api/names.ts";
import { apiVersionOf, defineResource, type KubeObject, type ObjectRef } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  type Role,
  roleRef,
  type RoleBinding,
} from "../api/rbac.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export interface CoreDnsPlace {
  readonly namespace: string;
  readonly configMap: string;
  /** In the ConfigMap's data. */
  readonly configKey: string;
  readonly deployment: string;
}

interface Deployment extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly serviceAccountName?: string;
        readonly containers?: readonly { readonly name?: string; readonly image?: string }[];
      };
    };
  };
}

export const DEPLOYMENT = defineResource<Deployment>({
  apiVersion: "apps/v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});

/** What CoreDNS reads; v1beta1 would not do. */
const WATCHED_IMPORT = { ...SERVICE_IMPORT, version: "v1alpha1" };

/** Of the ClusterRole and of its binding. */
export const ACCESS_NAME = "isthmus-coredns";

export interface Corefile {
  readonly configMap: ConfigMap;
  readonly text: string;
}

export async function readCorefile(
  store: Store,
  place: CoreDnsPlace,
  signal: AbortSignal,
): Promise<Corefile> {
  const { namespace, configMap: name, configKey } = place;
  const configMap = await store.get(CONFIG_MAP, { namespace, name }, { signal });
  const text = configMap?.data?.[configKey];
  if (configMap !== undefined && text !== undefined) return { configMap, text };
  const keys = Object.keys(configMap?.data ?? {});
  const what =
    configMap === undefined
      ? `there is no ConfigMap ${namespace}/${name}`
      : `the ConfigMap ${namespace}/${name} has no ${configKey}, only ${keys.join(", ") || "nothing"}`;
  throw new Problem("CoreDnsMissing", `CoreDNS's configuration was not found: ${what}`, {
    hint: "Say where it is with --namespace, --config-map and --config-key.",
  });
}

/** By the tag of its image: "v1.12.1", "1.11.4-eksbuild.2". */
export interface CoreDnsVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export function parseCoreDnsVersion(text: string): CoreDnsVersion | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(?![\d.])/u.exec(text);
  if (match === null) return undefined;
  const [major = 0, minor = 0, patch = 0] = match.slice(1).map(Number);
  return { major, minor, patch };
}

/** Since 1.12.2. */
export function hasMulticluster({ major, minor, patch }: CoreDnsVersion): boolean {
  if (major !== 1) return major > 1;
  return minor === 12 ? patch >= 2 : minor > 12;
}

export interface Deployed {
  /** Absent when the image's tag names none. */
  readonly version: CoreDnsVersion | undefined;
  readonly image: string;
  readonly serviceAccount: string;
}

/** Undefined when there is no such Deployment. */
export async function readDeployed(
  store: Store,
  place: CoreDnsPlace,
  signal: AbortSignal,
): Promise<Deployed | undefined> {
  const ref = { namespace: place.namespace, name: place.deployment };
  const deployment = await store.get(DEPLOYMENT, ref, { signal });
  const pod = deployment?.spec?.template?.spec;
  if (pod === undefined) return undefined;
  const { containers = [], serviceAccountName = "default" } = pod;
  const container =
    containers.find(({ name }) => name === "coredns") ??
    containers.find(({ image }) => image?.includes("coredns")) ??
    containers[0];
  const image = container?.image ?? "";
  // A registry may have a port, and a digest may follow the tag.
  const tag = /:([^:/@]+)(?:@.*)?$/u.exec(image.replace(/@.*$/u, ""))?.[1] ?? "";
  return { version: parseCoreDnsVersion(tag), image, serviceAccount: serviceAccountName };
}

export async function servesImports(store: Store, signal: AbortSignal): Promise<boolean> {
  try {
    await store.list(WATCHED_IMPORT, { limit: 1, signal });
    return true;
  } catch (error) {
    if (isStoreError(error, "NotFound")) return false;
    throw error;
  }
}

/** R71: beyond what it has already, CoreDNS needs to list and watch ServiceImports. */
export function renderAccess(account: Required<ObjectRef>): {
  readonly role: Role;
  readonly binding: RoleBinding;
} {
  const metadata = { name: ACCESS_NAME, labels: { [PART_OF_LABEL]: "isthmus" } };
  return {
    role: {
      apiVersion: apiVersionOf(CLUSTER_ROLE),
      kind: CLUSTER_ROLE.kind,
      metadata,
      rules: [
        { apiGroups: [MCS_GROUP], resources: [SERVICE_IMPORT.plural], verbs: ["list", "watch"] },
      ],
    },
    binding: {
      apiVersion: apiVersionOf(CLUSTER_ROLE_BINDING),
      kind: CLUSTER_ROLE_BINDING.kind,
      metadata,
      roleRef: roleRef("ClusterRole", ACCESS_NAME),
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  };
}

/** Who would put a ConfigMap back as it was: what tools leave on the objects that they keep. */
const KEEPERS: readonly (readonly [key: string, name: string, value?: string])[] = [
  ["argocd.argoproj.io/instance", "Argo CD"],
  ["argocd.argoproj.io/tracking-id", "Argo CD"],
  ["kustomize.toolkit.fluxcd.io/name", "Flux"],
  ["helm.toolkit.fluxcd.io/name", "Flux"],
  ["meta.helm.sh/release-name", "Helm"],
  ["app.kubernetes.io/managed-by", "Helm", "Helm"],
  ["addonmanager.kubernetes.io/mode", "the addon manager", "Reconcile"],
  ["objectset.rio.cattle.io/id", "the deploy controller of K3s or RKE2"],
  ["eks.amazonaws.com/component", "the EKS add-on"],
];
const KEEPING_MANAGERS: Readonly<Record<string, string>> = {
  "argocd-controller": "Argo CD",
  "kustomize-controller": "Flux",
  "helm-controller": "Flux",
  helm: "Helm",
  eks: "the EKS add-on",
};

/** Undefined when nobody seems to. */
export function findKeeper({ metadata }: ConfigMap): string | undefined {
  const marks = { ...metadata.annotations, ...metadata.labels };
  const keeper = KEEPERS.find(
    ([key, , value]) => marks[key] !== undefined && (value === undefined || marks[key] === value),
  );
  if (keeper !== undefined) return keeper[1];
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  return managers.map((manager) => KEEPING_MANAGERS[manager]).find((name) => name !== undefined);
}
