// Edge, discovery: the types served now in, the documents under /api and /apis out, old form and aggregated.
// Reads the types at every call, so CRDs appear and vanish with their installation. Never caches.

import type { JsonObject, ServedType } from "../types.ts";

/** "v2" answers whole groups at once; "unaggregated" is the form that every client knows. */
export type DiscoveryForm = "v2" | "unaggregated";

const VERBS = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
] as const;
const STATUS_VERBS = ["get", "patch", "update"] as const;

interface Group {
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly { readonly name: string; readonly types: readonly ServedType[] }[];
}

/** Undefined for paths that are not discovery, and for groups and versions that nobody serves. */
export function renderDiscovery(
  types: readonly ServedType[],
  path: string,
  options: { readonly form: DiscoveryForm; readonly address: string },
): JsonObject | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, ...rest] = parts;
  const groups = groupTypes(types);
  if (root === "api") {
    const core = groups.find((group) => group.name === "");
    if (rest.length === 0) {
      return options.form === "v2"
        ? renderAggregated(core === undefined ? [] : [core])
        : renderCoreVersions(core, options.address);
    }
    return rest.length === 1 ? renderResources(core, rest[0]) : undefined;
  }
  if (root !== "apis") return undefined;
  const named = groups.filter((group) => group.name !== "");
  if (rest.length === 0) {
    return options.form === "v2"
      ? renderAggregated(named)
      : { kind: "APIGroupList", apiVersion: "v1", groups: named.map(renderGroup) };
  }
  const group = named.find((candidate) => candidate.name === rest[0]);
  if (group === undefined || rest.length > 2) return undefined;
  if (rest.length === 2) return renderResources(group, rest[1]);
  return { kind: "APIGroup", apiVersion: "v1", ...renderGroup(group) };
}

/** All paths that answer GET, for the index at "/". */
export function listDiscoveryPaths(types: readonly ServedType[]): readonly string[] {
  return groupTypes(types).flatMap(({ name, versions }) => {
    const base = name === "" ? "/api" : `/apis/${name}`;
    return [base, ...versions.map((version) => `${base}/${version.name}`)];
  });
}

/** Stable before beta before alpha, then higher numbers first; other names last, by alphabet. */
export function compareVersions(a: string, b: string): number {
  const left = rankVersion(a);
  const right = rankVersion(b);
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    if (right !== undefined) return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

function rankVersion(
  name: string,
): { readonly stability: number; readonly major: number; readonly minor: number } | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(name);
  if (match === null) return undefined;
  const stability = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
  return { stability, major: Number(match[1]), minor: Number(match[3] ?? 0) };
}

/** Built-in groups come first, as clients break ties of short names by this order; then by alphabet. */
function groupTypes(types: readonly ServedType[]): readonly Group[] {
  const byGroup = groupBy(types, (type) => type.resource.group);
  return [...byGroup]
    .sort(([a, ofA], [b, ofB]) => Number(isCustom(ofA)) - Number(isCustom(ofB)) || (a < b ? -1 : 1))
    .map(([name, ofGroup]) => ({
      name,
      versions: [...groupBy(ofGroup, (type) => type.resource.version)]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, ofVersion]) => ({
          name: version,
          types: [...ofVersion].sort((a, b) => (a.resource.plural < b.resource.plural ? -1 : 1)),
        })),
    }));
}

// Map.groupBy came after Node 20.
function groupBy(
  types: readonly ServedType[],
  key: (type: ServedType) => string,
): ReadonlyMap<string, readonly ServedType[]> {
  const groups = new Map<string, ServedType[]>();
  for (const type of types) {
    const group = groups.get(key(type));
    if (group === undefined) groups.set(key(type), [type]);
    else group.push(type);
  }
  return groups;
}

function isCustom(types: readonly ServedType[]): boolean {
  return !types.some((type) => type.builtin);
}

function renderCoreVersions(core: Group | undefined, address: string): JsonObject {
  return {
    kind: "APIVersions",
    versions: core?.versions.map((version) => version.name) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

function renderGroup(group: Group): JsonObject {
  const versions = group.versions.map(({ name }) => ({
    groupVersion: `${group.name}/${name}`,
    version: name,
  }));
  const [preferred] = versions;
  return {
    name: group.name,
    versions,
    ...(preferred === undefined ? {} : { preferredVersion: preferred }),
  };
}

function renderResources(
  group: Group | undefined,
  version: string | undefined,
): JsonObject | undefined {
  const found = group?.versions.find((candidate) => candidate.name === version);
  if (group === undefined || found === undefined) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: group.name === "" ? found.name : `${group.name}/${found.name}`,
    resources: found.types.flatMap(renderResource),
  };
}

function renderResource(type: ServedType): readonly JsonObject[] {
  const { plural, namespaced, kind } = type.resource;
  const main: JsonObject = {
    name: plural,
    singularName: type.singular,
    namespaced,
    kind,
    verbs: verbsOf(type),
    ...renderNames(type),
  };
  if (!type.hasStatus) return [main];
  const status = { name: `${plural}/status`, singularName: "", namespaced, kind };
  return [main, { ...status, verbs: STATUS_VERBS }];
}

function renderAggregated(groups: readonly Group[]): JsonObject {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map((group) => ({
      metadata: group.name === "" ? {} : { name: group.name },
      versions: group.versions.map((version) => ({
        version: version.name,
        resources: version.types.map(renderAggregatedResource),
        freshness: "Current",
      })),
    })),
  };
}

function renderAggregatedResource(type: ServedType): JsonObject {
  const { group, version, kind, plural, namespaced } = type.resource;
  const responseKind = { group, version, kind };
  return {
    resource: plural,
    responseKind,
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: type.singular,
    verbs: verbsOf(type),
    ...renderNames(type),
    ...(type.hasStatus
      ? { subresources: [{ subresource: "status", responseKind, verbs: STATUS_VERBS }] }
      : {}),
  };
}

function renderNames(type: ServedType): JsonObject {
  return {
    ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
    ...(type.categories.length === 0 ? {} : { categories: type.categories }),
  };
}

/** Nobody may delete all namespaces at once. */
function verbsOf(type: ServedType): readonly string[] {
  const { group, plural } = type.resource;
  if (group !== "" || plural !== "namespaces") return VERBS;
  return VERBS.filter((verb) => verb !== "deletecollection");
}
