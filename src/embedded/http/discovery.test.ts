// Discovery documents from the types that are served.

import { describe, expect, test } from "vitest";
import { compareVersions, renderDiscovery } from "./discovery.ts";
import type { JsonObject, ServedType } from "../types.ts";

function aType(
  apiVersion: string,
  kind: string,
  fields: Partial<ServedType> & { readonly namespaced?: boolean } = {},
): ServedType {
  const { namespaced = true, ...rest } = fields;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const singular = kind.toLowerCase();
  return {
    resource: { group: group!, version: version!, kind, plural: `${singular}s`, namespaced },
    singular,
    listKind: `${kind}List`,
    shortNames: [],
    categories: [],
    hasStatus: false,
    schema: {},
    definitions: {},
    columns: [],
    builtin: !apiVersion.includes("example"),
    storageVersion: version!,
    ...rest,
  };
}

const TYPES = [
  aType("a.example.dev/v1alpha1", "Widget"),
  aType("a.example.dev/v1", "Widget", { shortNames: ["wd"], categories: ["all"], hasStatus: true }),
  aType("a.example.dev/v1beta1", "Widget"),
  aType("coordination.k8s.io/v1", "Lease"),
  aType("v1", "Service", { hasStatus: true }),
  aType("v1", "Namespace", { namespaced: false, hasStatus: true }),
];

const options = { form: "unaggregated", address: "127.0.0.1:6443" } as const;

function discover(path: string, types = TYPES): JsonObject | undefined {
  return renderDiscovery(types, path, options);
}

describe("versions", () => {
  test("stable comes before beta before alpha, higher before lower, other names last", () => {
    const versions = ["foo10", "v1alpha1", "v2", "v11beta2", "v10beta3", "v1", "v3beta1", "bar1"];
    expect([...versions, "v10", "v12alpha1"].sort(compareVersions)).toEqual([
      "v10",
      "v2",
      "v1",
      "v11beta2",
      "v10beta3",
      "v3beta1",
      "v12alpha1",
      "v1alpha1",
      "bar1",
      "foo10",
    ]);
  });
});

describe("one document per level", () => {
  test("/api names the versions of the core group", () => {
    expect(discover("/api")).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:6443" }],
    });
  });

  test("/apis lists built-in groups first, each with its preferred version", () => {
    const groups = discover("/apis")?.["groups"] as readonly JsonObject[];
    expect(groups.map((group) => group["name"])).toEqual(["coordination.k8s.io", "a.example.dev"]);
    expect(groups[1]).toEqual({
      name: "a.example.dev",
      versions: ["v1", "v1beta1", "v1alpha1"].map((version) => ({
        groupVersion: `a.example.dev/${version}`,
        version,
      })),
      preferredVersion: { groupVersion: "a.example.dev/v1", version: "v1" },
    });
  });

  test("/apis/<group> is that group", () => {
    expect(discover("/apis/coordination.k8s.io")).toEqual({
      kind: "APIGroup",
      apiVersion: "v1",
      name: "coordination.k8s.io",
      versions: [{ groupVersion: "coordination.k8s.io/v1", version: "v1" }],
      preferredVersion: { groupVersion: "coordination.k8s.io/v1", version: "v1" },
    });
  });

  test("/apis/<group>/<version> lists resources and their status", () => {
    const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    expect(discover("/apis/a.example.dev/v1")).toEqual({
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: "a.example.dev/v1",
      resources: [
        {
          name: "widgets",
          singularName: "widget",
          namespaced: true,
          kind: "Widget",
          verbs: all,
          shortNames: ["wd"],
          categories: ["all"],
        },
        {
          name: "widgets/status",
          singularName: "",
          namespaced: true,
          kind: "Widget",
          verbs: ["get", "patch", "update"],
        },
      ],
    });
  });

  test("namespaces cannot be deleted all at once", () => {
    const resources = discover("/api/v1")?.["resources"] as readonly JsonObject[];
    const verbs = resources.find((resource) => resource["name"] === "namespaces")?.["verbs"];
    expect(verbs).not.toContain("deletecollection");
  });

  test.each([
    "/apis/none.example.dev",
    "/apis/a.example.dev/v9",
    "/api/v2",
    "/api/v1/services",
    "/apis/a.example.dev/v1/widgets",
    "/other",
  ])("%s is none of ours", (path) => {
    expect(discover(path)).toBeUndefined();
  });

  test("a group goes with the last of its types", () => {
    const builtin = TYPES.filter((type) => type.builtin);
    expect(discover("/apis/a.example.dev", builtin)).toBeUndefined();
    expect(discover("/apis", builtin)?.["groups"]).toHaveLength(1);
  });
});

describe("aggregated", () => {
  test("/apis holds whole groups with their resources and subresources", () => {
    const list = renderDiscovery(TYPES, "/apis", { ...options, form: "v2" });
    const items = list!["items"] as readonly JsonObject[];
    expect(list?.["kind"]).toBe("APIGroupDiscoveryList");
    expect(list?.["apiVersion"]).toBe("apidiscovery.k8s.io/v2");
    const responseKind = { group: "a.example.dev", version: "v1", kind: "Widget" };
    expect((items[1]!["versions"] as readonly JsonObject[])[0]).toEqual({
      version: "v1",
      freshness: "Current",
      resources: [
        {
          resource: "widgets",
          responseKind,
          scope: "Namespaced",
          singularResource: "widget",
          verbs: expect.arrayContaining(["get", "watch"]),
          shortNames: ["wd"],
          categories: ["all"],
          subresources: [
            { subresource: "status", responseKind, verbs: ["get", "patch", "update"] },
          ],
        },
      ],
    });
  });

  test("/api holds the core group without a name", () => {
    const list = renderDiscovery(TYPES, "/api", { ...options, form: "v2" });
    const [core, ...more] = list!["items"] as readonly JsonObject[];
    expect(core?.["metadata"]).toEqual({});
    expect(more).toEqual([]);
  });
});
