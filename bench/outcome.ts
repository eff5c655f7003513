// Bench: what a measurement left on the hub and in both clusters, without what differs between any two runs: two outcomes can be compared.

import { ENDPOINT_SLICE, SERVICE } from "../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../src/api/hubshare.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { MANAGED_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { Resource } from "../src/api/object.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { buildPath, type Query } from "../src/kube/path.ts";
import { SHARES, SPACE } from "./access.ts";
import type { Fleet } from "./fleet.ts";

interface Kind {
  readonly resource: Resource;
  readonly query: Query;
}

const CLUSTER_KINDS: readonly Kind[] = [
  { resource: SERVICE_EXPORT, query: {} },
  { resource: SERVICE_IMPORT, query: {} },
  { resource: SERVICE, query: { labelSelector: `${MANAGED_LABEL}=true` } },
  { resource: ENDPOINT_SLICE, query: { labelSelector: SOURCE_CLUSTER_LABEL } },
];
const HUB_KINDS: readonly Kind[] = [
  { resource: SERVICE_SHARE, query: {} },
  { resource: ENDPOINT_SHARE, query: {} },
];

/** Decided by the servers: times, versions, identities, addresses. */
const VARYING: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "exportedAt",
  "lastTransitionTime",
  "time",
  "ips",
  "clusterIP",
  "clusterIPs",
]);

/** Owners are listed by it. */
const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** One line per object: which fields were set by whom is part of it. */
export async function readOutcome({ hub, a, b }: Fleet): Promise<readonly string[]> {
  return [
    ...(await readLines("hub", hub, { namespace: SHARES, kinds: HUB_KINDS })),
    ...(await readLines("a", a, { namespace: SPACE, kinds: CLUSTER_KINDS })),
    ...(await readLines("b", b, { namespace: SPACE, kinds: CLUSTER_KINDS })),
  ];
}

async function readLines(
  server: string,
  client: KubeClient,
  { namespace, kinds }: { readonly namespace: string; readonly kinds: readonly Kind[] },
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { resource, query } of kinds) {
    // Not through list: the client keeps no managedFields.
    const path = buildPath(resource, { namespace });
    const { status, body } = await client.request("GET", path, { query });
    if (status !== 200) throw new Error(`GET ${path} was answered with ${status}`);
    const { items } = body as { readonly items: readonly unknown[] };
    for (const item of items) lines.push(`${server} ${JSON.stringify(item, withoutVarying)}`);
  }
  return lines;
}

export function requireSameOutcome(ours: readonly string[], floor: readonly string[]): void {
  const different = ours.findIndex((line, index) => line !== floor[index]);
  if (different === -1 && ours.length === floor.length) return;
  throw new Error(
    `we and the floor wrote different objects:\n${ours[different] ?? "nothing"}\n${floor[different] ?? "nothing"}`,
  );
}

function withoutVarying(key: string, value: unknown): unknown {
  // In the order of their times, which is nobody's choice.
  if (key === "managedFields") return (value as object[]).map(asText).toSorted();
  return VARYING.has(key) ? undefined : value;
}

function asText(entry: object): string {
  return JSON.stringify(entry, withoutVarying).replaceAll(UID, "uid");
}
