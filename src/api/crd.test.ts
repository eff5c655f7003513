import { type TSchema, Type } from "typebox";
import { describe, expect, test } from "vitest";

import { CLUSTER_PROPERTY, CLUSTER_PROPERTY_CRD } from "./about.ts";
import type { CustomResourceDefinition } from "./builtin.ts";
import { renderCrd } from "./crd.ts";
import { CRDS, HUB_CRDS, MEMBER_CRDS } from "./crds.ts";
import { endpointShareName, serviceShareName } from "./digest.ts";
import {
  ENDPOINT_SHARE,
  ENDPOINT_SHARE_CRD,
  SERVICE_SHARE,
  SERVICE_SHARE_CRD,
} from "./hubshare.ts";
import { CLUSTER_MEMBER, CLUSTER_MEMBER_CRD } from "./isthmus.ts";
import { JOIN_TOKEN, JOIN_TOKEN_CRD } from "./jointoken.ts";
import { SERVICE_EXPORT, SERVICE_EXPORT_CRD, SERVICE_IMPORT, SERVICE_IMPORT_CRD } from "./mcs.ts";
import { memberNamespace, parseClusterId, serviceKey } from "./names.ts";
import { renderCrdYaml } from "./yaml.ts";

interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node;
  readonly items?: Node;
  readonly [keyword: string]: unknown;
}

function schemaOf(crd: CustomResourceDefinition, version: string): Node {
  return crd.spec.versions.find((each) => each.name === version)?.schema?.openAPIV3Schema as Node;
}

function* nodesOf(node: Node, path: string): Generator<readonly [path: string, node: Node]> {
  yield [path, node];
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    yield* nodesOf(child, `${path}.${name}`);
  }
  if (node.items) yield* nodesOf(node.items, `${path}[]`);
  if (node.additionalProperties) yield* nodesOf(node.additionalProperties, `${path}.*`);
}

function withoutWords(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) =>
      key === "description" && typeof inner === "string" ? undefined : inner,
    ),
  );
}

function render(schema: TSchema): Node {
  const crd = renderCrd({
    group: "example.com",
    scope: "Namespaced",
    kind: "Thing",
    plural: "things",
    labels: {},
    versions: [{ name: "v1", storage: true, hasStatus: false, columns: [], schema }],
  });
  return schemaOf(crd, "v1");
}

describe("rendering", () => {
  test("maps, enums, lists and optional fields become structural schema", () => {
    const schema = Type.Object(
      {
        spec: Type.Object(
          {
            b: Type.Enum(["x", "y"], { description: "b" }),
            a: Type.Integer({ description: "a", format: "int32" }),
            map: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "map" })),
            list: Type.Optional(
              Type.Array(Type.String(), {
                description: "list",
                maxItems: 3,
                "x-kubernetes-list-type": "set",
              }),
            ),
          },
          { description: "spec" },
        ),
      },
      { description: "thing" },
    );
    expect(render(schema).properties?.["spec"]).toEqual({
      description: "spec",
      type: "object",
      required: ["a", "b"],
      properties: {
        b: { description: "b", type: "string", enum: ["x", "y"] },
        a: { description: "a", type: "integer", format: "int32" },
        map: { description: "map", type: "object", additionalProperties: { type: "string" } },
        list: {
          description: "list",
          type: "array",
          maxItems: 3,
          "x-kubernetes-list-type": "set",
          items: { type: "string" },
        },
      },
    });
  });

  test.each([
    ["a union", Type.Union([Type.String(), Type.Integer()], { description: "u" }), /anyOf/],
    ["a reference", Type.Ref("other", { description: "r" }), /\$ref/],
    ["anything at all", Type.Unknown({ description: "?" }), /needs a type/],
    ["a field without words", Type.String(), /Thing\.spec: a field without a description/],
  ])("%s is refused, with the place where it stands", (_, field, problem) => {
    expect(() => render(Type.Object({ spec: field }, { description: "t" }))).toThrow(problem);
  });
});

describe.each(CRDS.map((crd) => [crd.metadata.name, crd] as const))("%s", (_, crd) => {
  const nodes = crd.spec.versions.flatMap((version) => [
    ...nodesOf(schemaOf(crd, version.name), version.name),
  ]);

  test("has a type on every node and words on every field that kubectl explain shows", () => {
    const silent = nodes.filter(
      ([path, node]) => !/\.metadata(\.name)?$|\[\]$|\*$/.test(path) && !node.description,
    );
    expect(nodes.filter(([, node]) => node.type === undefined)).toEqual([]);
    expect(silent).toEqual([]);
    expect(nodes.length).toBeGreaterThan(5);
  });

  test("stores exactly one version and serves all", () => {
    expect(crd.spec.versions.filter((version) => version.storage)).toHaveLength(1);
    expect(crd.spec.versions.every((version) => version.served)).toBe(true);
  });

  test("is written without anchors, the same way every time", () => {
    expect(renderCrdYaml(crd)).toBe(renderCrdYaml(structuredClone(crd)));
    expect(renderCrdYaml(crd)).not.toMatch(/[&*]a\d/);
  });
});

describe.each([
  ["ServiceExport", SERVICE_EXPORT_CRD],
  ["ServiceImport", SERVICE_IMPORT_CRD],
])("%s", (_, crd) => {
  test("has byte-equal schemas in both versions, stores v1beta1 and serves status in both", () => {
    expect(JSON.stringify(schemaOf(crd, "v1alpha1"))).toBe(
      JSON.stringify(schemaOf(crd, "v1beta1")),
    );
    expect(crd.spec.versions).toMatchObject([
      { name: "v1alpha1", served: true, storage: false, subresources: { status: {} } },
      { name: "v1beta1", served: true, storage: true, subresources: { status: {} } },
    ]);
  });

  test("says which release of the MCS API it is", () => {
    expect(crd.metadata.labels).toEqual({
      "multicluster.x-k8s.io/release-version": "v0.5.2",
      "multicluster.x-k8s.io/crd-schema-revision": "0",
    });
  });
});

test("what we read and write is the stored version of its CRD", () => {
  const pairs = [
    [SERVICE_EXPORT, SERVICE_EXPORT_CRD],
    [SERVICE_IMPORT, SERVICE_IMPORT_CRD],
    [CLUSTER_PROPERTY, CLUSTER_PROPERTY_CRD],
    [CLUSTER_MEMBER, CLUSTER_MEMBER_CRD],
    [SERVICE_SHARE, SERVICE_SHARE_CRD],
    [ENDPOINT_SHARE, ENDPOINT_SHARE_CRD],
    [JOIN_TOKEN, JOIN_TOKEN_CRD],
  ] as const;
  for (const [resource, { spec }] of pairs) {
    expect(resource).toEqual({
      group: spec.group,
      version: spec.versions.find((version) => version.storage)?.name,
      kind: spec.names.kind,
      plural: spec.names.plural,
      namespaced: spec.scope === "Namespaced",
    });
  }
});

test("an import says whether its EndpointSlices are there", () => {
  expect(
    schemaOf(SERVICE_IMPORT_CRD, "v1beta1").properties?.["status"]?.properties?.[
      "endpointSliceObjects"
    ],
  ).toMatchObject({ type: "string", enum: ["Present", "Absent"] });
});

// The published CRD is in no Go module that the proxy hands out with a checksum, so its facts are written down here.
test("ClusterProperty is, wording aside, what its project publishes", () => {
  const common = { apiVersion: { type: "string" }, kind: { type: "string" } };
  const spec = {
    type: "object",
    required: ["value"],
    properties: { value: { type: "string", minLength: 1 } },
  };
  const columns = [
    { name: "value", type: "string", jsonPath: ".spec.value" },
    { name: "age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  expect(withoutWords(CLUSTER_PROPERTY_CRD.spec)).toEqual({
    group: "about.k8s.io",
    scope: "Cluster",
    names: { kind: "ClusterProperty", plural: "clusterproperties", singular: "clusterproperty" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: false,
        subresources: {},
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: { ...common, metadata: { type: "object" }, spec },
          },
        },
      },
      {
        name: "v1beta1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              ...common,
              metadata: { type: "object" },
              spec,
              status: { type: "object" },
            },
          },
        },
      },
    ],
  });
});

describe.each(HUB_CRDS.map((crd) => [crd.spec.names.kind, crd] as const))("%s", (_, crd) => {
  test("has a bound on every list, map and string: members write it, and nobody trusts them", () => {
    const unbounded = [...nodesOf(schemaOf(crd, "v1alpha1"), "")].filter(
      ([path, node]) =>
        (node.type === "array" && node["maxItems"] === undefined) ||
        (node.additionalProperties !== undefined && node["maxProperties"] === undefined) ||
        (node.type === "string" &&
          node["maxLength"] === undefined &&
          node["enum"] === undefined &&
          node["format"] === undefined &&
          !/^\.(apiVersion|kind)$/.test(path)),
    );
    expect(unbounded).toEqual([]);
  });

  test("says in its descriptions what its lists and maps may hold", () => {
    const silent = [...nodesOf(schemaOf(crd, "v1alpha1"), "")].filter(([path, node]) => {
      const limit = node["maxItems"] ?? node["maxProperties"];
      // One address, and conditions that only we set, need no number.
      return (
        limit !== undefined &&
        !/\.(addresses|conditions)$/.test(path) &&
        !node.description?.includes(`At most ${JSON.stringify(limit)}.`)
      );
    });
    expect(silent).toEqual([]);
  });

  test("has words for every column but the age, which every kind has", () => {
    const columns = crd.spec.versions[0]?.additionalPrinterColumns ?? [];
    expect(columns.filter((column) => !column.description)).toMatchObject([{ name: "Age" }]);
  });
});

function nameRuleOf(crd: CustomResourceDefinition): (name: string) => boolean {
  const name = schemaOf(crd, "v1alpha1").properties?.["metadata"]?.properties?.["name"];
  const pattern = new RegExp(String(name?.["pattern"]));
  return (text) => text.length <= Number(name?.["maxLength"]) && pattern.test(text);
}

test("a ClusterMember's name is a cluster id that has room in the name of its namespace", () => {
  const isName = nameRuleOf(CLUSTER_MEMBER_CRD);
  const longest = "x".repeat(48);
  expect([isName("east-1"), isName(longest)]).toEqual([true, true]);
  expect([isName(`${longest}x`), isName("east.example"), isName("East")]).not.toContain(true);
  const id = parseClusterId(longest);
  expect(id.ok && memberNamespace(id.value)).toHaveLength(63);
});

test("shares are named as we name them, however long, and in no other way", () => {
  const label = "x".repeat(63);
  const services = [
    serviceKey({ namespace: "shop", name: "web" }),
    serviceKey({ namespace: label, name: label }),
  ];
  const isServiceShare = nameRuleOf(SERVICE_SHARE_CRD);
  const isEndpointShare = nameRuleOf(ENDPOINT_SHARE_CRD);
  for (const service of services) {
    const names = [serviceShareName(service), endpointShareName(service, "slice")] as const;
    expect(names.map(isServiceShare)).toEqual([true, false]);
    expect(names.map(isEndpointShare)).toEqual([false, true]);
  }
  for (const bad of ["shop", "shop.", "Shop.web", `${label}x.web`, "shop.web.x", "-.web"]) {
    expect([isServiceShare(bad), isEndpointShare(bad)]).toEqual([false, false]);
  }
});

test("members and the hub get their own CRDs, none twice", () => {
  expect(MEMBER_CRDS.map((crd) => crd.metadata.name)).toEqual([
    "serviceexports.multicluster.x-k8s.io",
    "serviceimports.multicluster.x-k8s.io",
    "clusterproperties.about.k8s.io",
  ]);
  expect(HUB_CRDS.map((crd) => crd.metadata.name)).toEqual([
    "clustermembers.isthmus.dev",
    "serviceshares.isthmus.dev",
    "endpointshares.isthmus.dev",
    "jointokens.isthmus.dev",
  ]);
});
