// Every label, annotation and name rule that Isthmus reads or writes, in one place. Pure text in, branded names out.

/** API groups. Labels and annotations of the MCS API live under a third, similar name: multicluster.kubernetes.io. */
export const MCS_GROUP = "multicluster.x-k8s.io";
export const ABOUT_GROUP = "about.k8s.io";
export const ISTHMUS_GROUP = "isthmus.dev";

/** On imported EndpointSlices: the ServiceImport they belong to. */
export const SERVICE_NAME_LABEL = "multicluster.kubernetes.io/service-name";
/** On imported EndpointSlices: the id of the cluster whose endpoints these are. */
export const SOURCE_CLUSTER_LABEL = "multicluster.kubernetes.io/source-cluster";
/** On a ServiceImport: the Service that holds its virtual IP. */
export const DERIVED_SERVICE_ANNOTATION = "multicluster.kubernetes.io/derived-service";
/** On EndpointSlices: the controller that writes them. Others leave slices alone that do not carry their name. */
export const MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by";
/** On EndpointSlices: the Service that kube-proxy routes to them. */
export const KUBE_SERVICE_NAME_LABEL = "kubernetes.io/service-name";

/** On ServiceImports and Services that Isthmus made, and will take away again. */
export const MANAGED_LABEL = "isthmus.dev/managed";

/** On ServiceImports: which labels and annotations come from exports, so that they can be taken away again. */
export const EXPORTED_KEYS_ANNOTATION = "isthmus.dev/exported";

/** Our name in the managed-by label. */
export const SLICE_MANAGER = "endpointslice-controller.isthmus.dev";
/** Our name in server-side apply. */
export const FIELD_MANAGER = "isthmus";

/** ClusterProperty that holds the cluster's id. */
export const CLUSTER_ID_PROPERTY = "cluster.clusterset.k8s.io";
/** ClusterProperty that exists while the cluster is a member, and names the clusterset. */
export const CLUSTERSET_PROPERTY = "clusterset.k8s.io";
/** ClusterProperty that asks all clusters to lead their traffic elsewhere while it is there. Its value says why. */
export const DRAIN_PROPERTY = "drain.isthmus.dev";

/** Names that the Kubernetes project keeps for itself: nobody may invent a property there. */
export function isReservedPropertyName(name: string): boolean {
  return /(^|\.)(k8s\.io|kubernetes\.io)$/.test(name);
}

/** On a ServiceExport: what becomes of this cluster's endpoints elsewhere once the cluster is lost. */
export const WHEN_LOST_ANNOTATION = "isthmus.dev/when-lost";

/** Namespace in every member for what Isthmus itself needs there: credentials, the agent's Lease. */
export const SYSTEM_NAMESPACE = "isthmus-system";
/** Namespace of the hub for what belongs to no single member: Leases, join tokens. */
export const HUB_NAMESPACE = "isthmus-hub";
/** Each member has a namespace of its own on the hub. Who wrote something there is known by it, and by nothing else. */
export const MEMBER_NAMESPACE_PREFIX = "isthmus-member-";

/** On everything that Isthmus makes on a hub. */
export const PART_OF_LABEL = "app.kubernetes.io/part-of";
/** On everything of one member on a hub: its cluster id. */
export const CLUSTER_LABEL = "isthmus.dev/cluster";
/** On everything of one member on a hub: the join token it came with. Absent when an administrator registered it. */
export const JOIN_TOKEN_LABEL = "isthmus.dev/join-token";
/** On a member's namespace: a secret of whoever registered it. Only hub administrators can read namespaces. */
export const CLAIM_ANNOTATION = "isthmus.dev/claim";
/** On a ClusterMember: the half of the claim that every member may read, and that opens nothing any more. */
export const CLAIM_PROOF_ANNOTATION = "isthmus.dev/claim-proof";

/** One RFC 1123 label. */
export const LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
export const LABEL_MAX_LENGTH = 63;

declare const brand: unique symbol;
/** Names one member of the clusterset: one RFC 1123 label of at most 63 characters. */
export type ClusterId = string & { readonly [brand]: "ClusterId" };
/** Names one service in all clusters: "namespace/name". */
export type ServiceKey = string & { readonly [brand]: "ServiceKey" };

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem` is a sentence for the person who typed the text. */
  | { readonly ok: false; readonly problem: string };

function isClusterId(text: string): text is ClusterId {
  return text.length <= LABEL_MAX_LENGTH && new RegExp(LABEL_PATTERN).test(text);
}

/**
 * The spec allows an id of two labels joined by a dot. CoreDNS reads exactly one label in front of the service name,
 * so such a cluster's headless endpoints would not resolve: we refuse it at the door.
 */
export function parseClusterId(text: string): Parsed<ClusterId> {
  return isClusterId(text)
    ? { ok: true, value: text }
    : { ok: false, problem: explainClusterId(text) };
}

/** What is wrong with a text that is no cluster id. */
function explainClusterId(text: string): string {
  if (text === "") {
    return "The cluster id is empty; choose a name such as east-1.";
  }
  if (text.length > LABEL_MAX_LENGTH) {
    return `The cluster id has ${text.length} characters; at most ${LABEL_MAX_LENGTH} are allowed.`;
  }
  const subject = `The cluster id ${JSON.stringify(text)}`;
  if (text.includes(".")) {
    return `${subject} has a dot; it must be a single DNS label, such as ${suggestLabel(text)}.`;
  }
  if (/[A-Z]/.test(text)) {
    return `${subject} has upper-case letters; DNS labels are lower-case, such as ${suggestLabel(text)}.`;
  }
  const [foreign] = text.match(/[^-a-z0-9]/u) ?? [];
  if (foreign !== undefined) {
    return `${subject} has the character ${JSON.stringify(foreign)}; only a-z, 0-9 and - are allowed.`;
  }
  return `${subject} must start and end with a letter or a digit.`;
}

function suggestLabel(text: string): string {
  const label = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return label === "" ? "east-1" : label;
}

/** The longest id whose namespace on a hub is still one label. */
export const HUB_CLUSTER_ID_MAX_LENGTH = LABEL_MAX_LENGTH - MEMBER_NAMESPACE_PREFIX.length;

export function memberNamespace(cluster: ClusterId): string {
  return MEMBER_NAMESPACE_PREFIX + cluster;
}

/** Undefined for a namespace that belongs to no member. */
export function memberOfNamespace(namespace: string): ClusterId | undefined {
  if (!namespace.startsWith(MEMBER_NAMESPACE_PREFIX)) return undefined;
  const id = namespace.slice(MEMBER_NAMESPACE_PREFIX.length);
  return isClusterId(id) ? id : undefined;
}

export function serviceKey(ref: { readonly namespace: string; readonly name: string }): ServiceKey {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- how a brand is given
  return `${ref.namespace}/${ref.name}` as ServiceKey;
}

export function splitServiceKey(key: ServiceKey): {
  readonly namespace: string;
  readonly name: string;
} {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

const RELEASE_LABEL_SUFFIX = "/release-version";
const REVISION_LABEL_SUFFIX = "/crd-schema-revision";

/** Labels that say which release of an API a CRD is, so that installers can refuse to go back. */
export function crdReleaseLabels(options: {
  /** Who numbers the releases: the prefix of the labels. */
  readonly owner: string;
  readonly release: string;
  readonly revision: number;
}): Readonly<Record<string, string>> {
  return {
    [options.owner + RELEASE_LABEL_SUFFIX]: options.release,
    [options.owner + REVISION_LABEL_SUFFIX]: String(options.revision),
  };
}

/** Who numbers the releases of a CRD that carries these labels. */
export function findCrdReleaseOwner(
  labels: Readonly<Record<string, string>> | undefined,
): string | undefined {
  return Object.keys(labels ?? {})
    .find((key) => key.endsWith(RELEASE_LABEL_SUFFIX))
    ?.slice(0, -RELEASE_LABEL_SUFFIX.length);
}

/** The two labels as written, readable or not. */
export function readCrdRelease(
  labels: Readonly<Record<string, string>> | undefined,
  owner: string,
): { readonly release: string | undefined; readonly revision: string | undefined } {
  return {
    release: labels?.[owner + RELEASE_LABEL_SUFFIX],
    revision: labels?.[owner + REVISION_LABEL_SUFFIX],
  };
}
