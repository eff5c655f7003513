// Tables as `kubectl get` shows them. The cells were read off a real API server of 1.36.

import { describe, expect, test } from "vitest";
import { renderDuration } from "./age.ts";
import { builtinColumns } from "./columns.ts";
import { createPrinter, type IncludeObject, parseIncludeObject, renderPartial } from "./table.ts";
import type { Column, Json, JsonObject, ServedType } from "../types.ts";

const NOW = Date.parse("2026-11-15T22:20:00Z");
const CREATED = "2026-11-15T22:15:07Z";

function print(
  columns: readonly Column[],
  body: JsonObject,
  includeObject: IncludeObject = "Metadata",
): JsonObject {
  const served = { columns } as ServedType;
  return createPrinter(served, includeObject)(body, { nowMs: NOW, definitions: true });
}

/** Header to cell, of one object of a built-in kind. */
function printBuiltin(kind: string, fields: JsonObject, group = ""): Record<string, Json> {
  const object = { metadata: { name: "x", creationTimestamp: CREATED }, ...fields };
  const table = print(builtinColumns({ group, kind }), object);
  const definitions = table["columnDefinitions"] as readonly { name: string }[];
  const [row] = table["rows"] as readonly { cells: readonly Json[] }[];
  return Object.fromEntries(definitions.map(({ name }, index) => [name, row!.cells[index]!]));
}

function printPath(jsonPath: string, type: string, object: JsonObject): Json {
  const table = print([{ name: "Column", type, jsonPath }], { metadata: {}, ...object });
  return (table["rows"] as readonly { cells: readonly Json[] }[])[0]!.cells[1]!;
}

describe("shape", () => {
  const one = { kind: "X", metadata: { name: "one", resourceVersion: "7" }, spec: { size: 1 } };
  const two = { kind: "X", metadata: { name: "two" }, spec: { size: 2 } };
  const list = {
    kind: "XList",
    metadata: { resourceVersion: "9", continue: "c" },
    items: [one, two],
  };
  const size: Column = { name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1 };

  test("a list has a row per item and the list's own metadata", () => {
    const table = print([size], list);
    expect(table["kind"]).toBe("Table");
    expect(table["apiVersion"]).toBe("meta.k8s.io/v1");
    expect(table["metadata"]).toEqual({ resourceVersion: "9", continue: "c" });
    const meta = (metadata: JsonObject): JsonObject => ({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata,
    });
    expect(table["rows"]).toEqual([
      { cells: ["one", 1], object: meta(one.metadata) },
      { cells: ["two", 2], object: meta(two.metadata) },
    ]);
  });

  test("a column says its path where nobody described it", () => {
    const definitions = print([size], list)["columnDefinitions"] as readonly JsonObject[];
    expect(definitions[1]).toEqual({
      name: "Size",
      type: "integer",
      format: "",
      description: "Custom resource definition column (in JSONPath format): .spec.size",
      priority: 1,
    });
  });

  test("a single object keeps its version as the table's", () => {
    expect(print([size], one)["metadata"]).toEqual({ resourceVersion: "7" });
  });

  test("rows carry as much of the object as was asked for", () => {
    const objectFor = (include: IncludeObject): Json =>
      (print([size], one, include)["rows"] as readonly { object: Json }[])[0]!.object;
    expect(objectFor("None")).toBeNull();
    expect(objectFor("Object")).toEqual(one);
    expect(objectFor("Metadata")).not.toHaveProperty("spec");
  });

  test("includeObject takes three words and no other", () => {
    expect(parseIncludeObject(null)).toBe("Metadata");
    expect(parseIncludeObject("None")).toBe("None");
    expect(() => parseIncludeObject("foo")).toThrow(
      `includeObject: Invalid value: "foo": must be 'Metadata', 'Object', 'None', or empty`,
    );
  });

  test("bare metadata of objects and of lists", () => {
    expect(renderPartial(one)).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: one.metadata,
    });
    expect(renderPartial(list)).toMatchObject({
      kind: "PartialObjectMetadataList",
      metadata: list.metadata,
      items: [{ metadata: { name: "one" } }, { metadata: { name: "two" } }],
    });
  });
});

describe("columns of custom types", () => {
  const object: JsonObject = {
    metadata: { labels: { "example.dev/x": "lx" } },
    spec: {
      size: 3,
      ratio: 2.5,
      on: true,
      tags: ["a", "b", "c"],
      sub: { b: 1, a: "x" },
      when: "2026-11-15T20:00:00Z",
      list: [{ key: "k1" }, { key: "k2" }],
    },
    status: {
      conditions: [
        { type: "Other", status: "False" },
        { type: "Ready", status: "True" },
      ],
    },
  };

  test.each<[string, string, Json]>([
    [".spec.size", "integer", 3],
    [".spec.size", "string", "3"],
    [".spec.ratio", "number", 2.5],
    [".spec.ratio", "integer", 2],
    [".spec.on", "boolean", true],
    [".spec.on", "string", "true"],
    [".spec.tags", "string", '["a","b","c"]'],
    [".spec.tags[0]", "string", "a"],
    [".spec.tags[-1]", "string", "c"],
    [".spec.tags[0:2]", "string", "a"],
    [".spec.tags[0]", "integer", null],
    [".spec.sub", "string", '{"a":"x","b":1}'],
    [".spec.list[*].key", "string", "k1"],
    ["..key", "string", "k1"],
    [".spec.none.deeper", "string", null],
    [".spec.when", "date", "140m"],
    [".spec.tags[1]", "date", "<invalid>"],
    [String.raw`.metadata.labels.example\.dev/x`, "string", "lx"],
    [String.raw`.metadata.labels['example\.dev/x']`, "string", "lx"],
    ['.status.conditions[?(@.type=="Ready")].status', "string", "True"],
    [".status.conditions[?(@.type=='None')].status", "string", null],
    [".spec.list[", "string", null],
  ])("%s as %s prints %j", (path, type, expected) => {
    expect(printPath(path, type, object)).toEqual(expected);
  });
});

describe("columns of built-in types", () => {
  test("Namespace", () => {
    expect(printBuiltin("Namespace", { status: { phase: "Active" } })).toEqual({
      Name: "x",
      Status: "Active",
      Age: "4m53s",
    });
  });

  test("Service of each type", () => {
    const ports = [
      { port: 80, protocol: "TCP" },
      { port: 53, protocol: "UDP", nodePort: 30053 },
    ];
    const spec = { type: "ClusterIP", clusterIPs: ["10.0.0.1", "fd00::1"], ports };
    expect(printBuiltin("Service", { spec: { ...spec, selector: { b: "2", a: "1" } } })).toEqual({
      Name: "x",
      Type: "ClusterIP",
      "Cluster-IP": "10.0.0.1",
      "External-IP": "<none>",
      "Port(s)": "80/TCP,53:30053/UDP",
      Age: "4m53s",
      Selector: "a=1,b=2",
    });
    const external = (fields: JsonObject, status: JsonObject = {}): Json =>
      printBuiltin("Service", { spec: { ...spec, ...fields }, status })["External-IP"]!;
    expect(external({ type: "LoadBalancer" })).toBe("<pending>");
    const ingress = [{ ip: "192.0.2.1" }, { hostname: "lb.example" }];
    expect(external({ type: "LoadBalancer" }, { loadBalancer: { ingress } })).toBe(
      "192.0.2.1,lb.example",
    );
    expect(external({ type: "ExternalName", externalName: "db.example" })).toBe("db.example");
    expect(external({ externalIPs: ["192.0.2.9"] })).toBe("192.0.2.9");
    expect(printBuiltin("Service", { spec: { type: "ExternalName" } })).toMatchObject({
      "Cluster-IP": "<none>",
      "Port(s)": "<none>",
      Selector: "<none>",
    });
  });

  test("EndpointSlice shows three of each and counts the rest", () => {
    const endpoints = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"];
    const slice = {
      addressType: "IPv4",
      ports: [{ port: 80 }, { name: "all", port: null }, {}],
      endpoints: endpoints.map((address) => ({ addresses: [address] })),
    };
    expect(printBuiltin("EndpointSlice", slice, "discovery.k8s.io")).toEqual({
      Name: "x",
      AddressType: "IPv4",
      Ports: "80,all,*",
      Endpoints: "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...",
      Age: "4m53s",
    });
    expect(
      printBuiltin("EndpointSlice", { addressType: "IPv6" }, "discovery.k8s.io"),
    ).toMatchObject({ Ports: "<unset>", Endpoints: "<unset>" });
  });

  test("Secret, ConfigMap, ServiceAccount, Lease", () => {
    const data = { a: "", b: "" };
    expect(printBuiltin("Secret", { type: "Opaque", data })).toMatchObject({
      Type: "Opaque",
      Data: 2,
    });
    expect(printBuiltin("ConfigMap", { data, binaryData: { c: "" } })).toMatchObject({ Data: 3 });
    expect(printBuiltin("ServiceAccount", {})).toEqual({ Name: "x", Age: "4m53s" });
    const lease = { spec: { holderIdentity: "me" } };
    expect(printBuiltin("Lease", lease, "coordination.k8s.io")).toMatchObject({ Holder: "me" });
  });

  test("CustomResourceDefinition shows when it was created, not how old it is", () => {
    expect(printBuiltin("CustomResourceDefinition", {}, "apiextensions.k8s.io")).toEqual({
      Name: "x",
      "Created At": CREATED,
    });
  });

  test("Node", () => {
    const node = {
      metadata: { name: "n", labels: { "node-role.kubernetes.io/worker": "", zone: "a" } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
        nodeInfo: { kubeletVersion: "v1.36.3" },
      },
    };
    expect(printBuiltin("Node", node)).toEqual({
      Name: "n",
      Status: "Ready,SchedulingDisabled",
      Roles: "worker",
      Age: "<unknown>",
      Version: "v1.36.3",
      "Internal-IP": "192.0.2.1",
      "External-IP": "<none>",
      "OS-Image": "<unknown>",
      "Kernel-Version": "<unknown>",
      "Container-Runtime": "<unknown>",
    });
    expect(printBuiltin("Node", {})).toMatchObject({ Status: "Unknown", Roles: "<none>" });
  });

  test("Event puts its name last", () => {
    const event = {
      involvedObject: { kind: "Service", name: "web", fieldPath: "spec" },
      type: "Warning",
      reason: "Odd",
      message: " something \n",
      source: { component: "isthmus", host: "h" },
      firstTimestamp: "2026-11-15T22:10:00Z",
      lastTimestamp: "2026-11-15T22:19:00Z",
      count: 4,
    };
    const cells = printBuiltin("Event", event);
    expect(Object.keys(cells).at(-1)).toBe("Name");
    expect(cells).toEqual({
      "Last Seen": "60s",
      Type: "Warning",
      Reason: "Odd",
      Object: "service/web",
      Subobject: "spec",
      Source: "isthmus, h",
      Message: "something",
      "First Seen": "10m",
      Count: 4,
      Name: "x",
    });
  });

  test("Pod sums up its containers", () => {
    const spec = { containers: [{ name: "a" }, { name: "b" }], nodeName: "n1" };
    const running = { ready: true, restartCount: 0, state: { running: {} } };
    const pod = (status: JsonObject, metadata: JsonObject = {}): Record<string, Json> =>
      printBuiltin("Pod", { metadata: { name: "p", ...metadata }, spec, status });
    expect(
      pod({
        phase: "Running",
        podIPs: [{ ip: "10.0.0.9" }],
        containerStatuses: [
          { name: "a", ...running },
          {
            name: "b",
            ...running,
            restartCount: 2,
            lastState: { terminated: { finishedAt: "2026-11-15T22:15:00Z" } },
          },
        ],
      }),
    ).toEqual({
      Name: "p",
      Ready: "2/2",
      Status: "Running",
      Restarts: "2 (5m ago)",
      Age: "<unknown>",
      IP: "10.0.0.9",
      Node: "n1",
      "Nominated Node": "<none>",
      "Readiness Gates": "<none>",
    });
    const waiting = { name: "a", state: { waiting: { reason: "CrashLoopBackOff" } } };
    expect(pod({ phase: "Pending" })).toMatchObject({ Ready: "0/2", Status: "Pending" });
    expect(pod({ phase: "Running", containerStatuses: [waiting] })).toMatchObject({
      Status: "CrashLoopBackOff",
    });
    const failed = { name: "a", state: { terminated: { exitCode: 3 } } };
    expect(pod({ phase: "Failed", containerStatuses: [failed] })).toMatchObject({
      Status: "ExitCode:3",
    });
    expect(pod({ phase: "Running" }, { deletionTimestamp: CREATED })).toMatchObject({
      Status: "Terminating",
    });
  });
});

describe("spans of time", () => {
  const SECOND = 1000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  test.each([
    [-2 * SECOND, "<invalid>"],
    [-SECOND, "0s"],
    [119 * SECOND, "119s"],
    [2 * MINUTE, "2m"],
    [9 * MINUTE + 5 * SECOND, "9m5s"],
    [179 * MINUTE, "179m"],
    [3 * HOUR + MINUTE, "3h1m"],
    [8 * HOUR + MINUTE, "8h"],
    [47 * HOUR, "47h"],
    [2 * DAY + 3 * HOUR, "2d3h"],
    [8 * DAY + 3 * HOUR, "8d"],
    [730 * DAY, "2y"],
    [800 * DAY, "2y70d"],
    [9 * 365 * DAY, "9y"],
  ])("%d ms is %s", (duration, text) => {
    expect(renderDuration(duration)).toBe(text);
  });
});
