// Printing: a built-in kind in, the columns of its `kubectl get` table out, cell for cell as kube-apiserver prints them.
// Never looks at CRDs: their columns are paths.

import type { Resource } from "../../api/object.ts";
import { AGE, asText, countKeys, field, items, number, pick, text, wide } from "./cell.ts";
import { EVENT_COLUMNS } from "./eventcolumns.ts";
import { isJsonObject } from "../json.ts";
import { POD_COLUMNS } from "./podcolumns.ts";
import type { Column, Json, JsonObject } from "../types.ts";

const CREATED_AT: Column = {
  name: "Created At",
  type: "date",
  description: "Time at which the object was created.",
  cell: (object) => object.metadata.creationTimestamp ?? null,
};

/** What a CRD without columns of its own prints. */
export const CUSTOM_DEFAULT: readonly Column[] = [
  {
    name: "Age",
    type: "date",
    description: "Time since the object was created.",
    jsonPath: ".metadata.creationTimestamp",
  },
];

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  "/Namespace": [text("Status", (o) => pick(o, "status", "phase")), AGE],
  "/ConfigMap": [
    number("Data", (o) => countKeys(pick(o, "data")) + countKeys(pick(o, "binaryData"))),
    AGE,
  ],
  "/Secret": [
    text("Type", (o) => pick(o, "type")),
    number("Data", (o) => countKeys(pick(o, "data"))),
    AGE,
  ],
  "/ServiceAccount": [AGE],
  "/Service": [
    text("Type", (o) => pick(o, "spec", "type")),
    text("Cluster-IP", (o) => asText(items(pick(o, "spec", "clusterIPs"))[0]) || "<none>"),
    text("External-IP", renderExternalIp),
    text("Port(s)", renderServicePorts),
    AGE,
    wide("Selector", (o) => renderLabels(pick(o, "spec", "selector"))),
  ],
  "/Pod": POD_COLUMNS,
  "/Node": [
    text("Status", renderNodeStatus),
    text("Roles", renderNodeRoles),
    AGE,
    text("Version", (o) => pick(o, "status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", (o) => findNodeAddress(o, "InternalIP")),
    wide("External-IP", (o) => findNodeAddress(o, "ExternalIP")),
    wide("OS-Image", (o) => pick(o, "status", "nodeInfo", "osImage") || "<unknown>"),
    wide("Kernel-Version", (o) => pick(o, "status", "nodeInfo", "kernelVersion") || "<unknown>"),
    wide(
      "Container-Runtime",
      (o) => pick(o, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>",
    ),
  ],
  "/Event": EVENT_COLUMNS,
  "events.k8s.io/Event": EVENT_COLUMNS,
  "coordination.k8s.io/Lease": [text("Holder", (o) => pick(o, "spec", "holderIdentity")), AGE],
  "discovery.k8s.io/EndpointSlice": [
    text("AddressType", (o) => pick(o, "addressType")),
    text("Ports", (o) => renderSome(items(pick(o, "ports")).map(renderSlicePort))),
    text("Endpoints", (o) =>
      renderSome(items(pick(o, "endpoints")).flatMap((e) => items(field(e, "addresses")))),
    ),
    AGE,
  ],
};

/** Columns after Name; an Event's table holds its own Name, far right. */
export function builtinColumns(resource: Pick<Resource, "group" | "kind">): readonly Column[] {
  return COLUMNS[`${resource.group}/${resource.kind}`] ?? [CREATED_AT];
}

function renderExternalIp(service: JsonObject): string {
  const external = items(pick(service, "spec", "externalIPs")).map(asText);
  const type = pick(service, "spec", "type");
  if (type === "ExternalName") return asText(pick(service, "spec", "externalName"));
  if (type !== "LoadBalancer") return external.join(",") || "<none>";
  const ingress = items(pick(service, "status", "loadBalancer", "ingress"))
    .map((entry) => asText(field(entry, "ip")) || asText(field(entry, "hostname")))
    .filter((address) => address !== "");
  return [...new Set(ingress)].concat(external).join(",") || "<pending>";
}

function renderServicePorts(service: JsonObject): string {
  const ports = items(pick(service, "spec", "ports")).map((port) => {
    const nodePort = field(port, "nodePort");
    const number = asText(field(port, "port"));
    const protocol = asText(field(port, "protocol"));
    return typeof nodePort === "number" && nodePort > 0
      ? `${number}:${nodePort}/${protocol}`
      : `${number}/${protocol}`;
  });
  return ports.join(",") || "<none>";
}

function renderLabels(labels: Json): string {
  if (!isJsonObject(labels)) return "<none>";
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${asText(labels[key])}`);
  return pairs.join(",") || "<none>";
}

function renderNodeStatus(node: JsonObject): string {
  const ready = items(pick(node, "status", "conditions")).find(
    (condition) => field(condition, "type") === "Ready",
  );
  const state =
    ready === undefined ? "Unknown" : field(ready, "status") === "True" ? "Ready" : "NotReady";
  return pick(node, "spec", "unschedulable") === true ? `${state},SchedulingDisabled` : state;
}

function renderNodeRoles(node: JsonObject): string {
  const labels = pick(node, "metadata", "labels");
  if (!isJsonObject(labels)) return "<none>";
  const prefix = "node-role.kubernetes.io/";
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(prefix) && key.length > prefix.length) roles.add(key.slice(prefix.length));
    else if (key === "kubernetes.io/role" && asText(value) !== "") roles.add(asText(value));
  }
  return [...roles].sort().join(",") || "<none>";
}

function findNodeAddress(node: JsonObject, type: string): string {
  const found = items(pick(node, "status", "addresses")).find(
    (address) => field(address, "type") === type,
  );
  return found === undefined ? "<none>" : asText(field(found, "address"));
}

function renderSlicePort(port: Json): string {
  const name = field(port, "name");
  return asText(field(port, "port")) || (typeof name === "string" ? name : "*");
}

/** The first three, and how many more. */
function renderSome(values: readonly Json[]): string {
  const shown = values.slice(0, 3).map(asText).join(",");
  if (values.length > 3) return `${shown} + ${values.length - 3} more...`;
  return shown || "<unset>";
}
