// Our CRDs on an API server: installed, upgraded, kept, and what their schemas refuse. One suite, both servers.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLUSTER_PROPERTY_CRD } from "../../src/api/about.ts";
import {
  CUSTOM_RESOURCE_DEFINITION,
  type CustomResourceDefinition,
  NAMESPACE,
} from "../../src/api/builtin.ts";
import { CRDS } from "../../src/api/crds.ts";
import { CLUSTER_MEMBER_CRD, type ClusterMember } from "../../src/api/isthmus.ts";
import { SERVICE_EXPORT_CRD, SERVICE_IMPORT_CRD } from "../../src/api/mcs.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { systemClock } from "../../src/kube/clock.ts";
import type { Store } from "../../src/ports/store.ts";
import { unique } from "../contract/objects.ts";
import { describeHubSchemas, resourceOf } from "./hubSchemas.ts";

export interface CrdServer {
  readonly client: Store;
  close(): Promise<void>;
}

const RELEASE = "multicluster.x-k8s.io/release-version";
const clock = systemClock;

export function runCrdSuite(open: () => Promise<CrdServer>): void {
  let server: CrdServer;
  let store: Store;
  const namespace = unique("crd-");
  const crdNames = new Set<string>();

  /** The same CRD under a group of its own: CRDs are not namespaced, and others use the server at the same time. */
  function alone(crd: CustomResourceDefinition): CustomResourceDefinition {
    const group = `${unique("t")}.example.com`;
    const name = `${crd.spec.names.plural}.${group}`;
    crdNames.add(name);
    // Short names are shared by all groups; a second CRD that asks for them is not accepted.
    const { shortNames: _, ...names } = crd.spec.names;
    return {
      ...crd,
      metadata: { ...crd.metadata, name },
      spec: { ...crd.spec, group, names },
    };
  }

  function install(...crds: readonly CustomResourceDefinition[]) {
    return installCrds({ store, crds, clock });
  }

  function create(crd: CustomResourceDefinition, fields: object, version = "v1beta1") {
    const { group, names, scope } = crd.spec;
    return store.create(resourceOf(crd, version), {
      apiVersion: `${group}/${version}`,
      kind: names.kind,
      ...fields,
      metadata: {
        name: unique("thing-"),
        ...(scope === "Namespaced" && { namespace }),
        ...("metadata" in fields && (fields.metadata as object)),
      },
    });
  }

  async function read(crd: CustomResourceDefinition): Promise<CustomResourceDefinition> {
    const { name } = crd.metadata;
    return (await store.get(CUSTOM_RESOURCE_DEFINITION, { name: name! }))!;
  }

  beforeAll(async () => {
    server = await open();
    store = server.client;
    await store.create(NAMESPACE, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
  });

  afterAll(async () => {
    for (const name of crdNames) await store.delete(CUSTOM_RESOURCE_DEFINITION, { name });
    await store.delete(NAMESPACE, { name: namespace });
    await server.close();
  });

  describe("installation", () => {
    test("creates what is missing; a second one writes nothing", async () => {
      const crds = CRDS.map(alone);
      expect(await install(...crds)).toEqual(
        crds.map((crd) => ({ name: crd.metadata.name, outcome: "created" })),
      );
      const before = await Promise.all(crds.map(read));
      expect(await install(...crds)).toEqual(
        crds.map((crd) => ({ name: crd.metadata.name, outcome: "unchanged" })),
      );
      expect(await Promise.all(crds.map(read))).toEqual(before);
    });

    test("works under the real names, as often as one likes", async () => {
      const names = CRDS.map((crd) => crd.metadata.name);
      const outcomes = await install(...CRDS);
      expect(outcomes.map(({ name }) => name)).toEqual(names);
      expect(await install(...CRDS)).toEqual(names.map((name) => ({ name, outcome: "unchanged" })));
    });

    test("keeps a newer one, untouched", async () => {
      const crd = alone(SERVICE_IMPORT_CRD);
      const newer = { ...crd, metadata: { ...crd.metadata, labels: { [RELEASE]: "v0.9.1" } } };
      await install(newer);
      const before = await read(crd);
      expect(await install(crd)).toEqual([
        { name: crd.metadata.name, outcome: "kept", newer: "v0.9.1", missing: [] },
      ]);
      expect(await read(crd)).toEqual(before);
    });

    test("upgrades what another tool installed long ago; its labels and its objects stay", async () => {
      const crd = alone(SERVICE_IMPORT_CRD);
      const old = {
        ...crd,
        metadata: {
          name: crd.metadata.name!,
          labels: { [RELEASE]: "v0.3.0", "example.com/team": "network" },
          annotations: { "example.com/note": "hands off" },
        },
        spec: { ...crd.spec, versions: [{ ...crd.spec.versions[0]!, storage: true }] },
      };
      await store.create(CUSTOM_RESOURCE_DEFINITION, old, { fieldManager: "another-tool" });
      await install({ ...old, metadata: { ...old.metadata, labels: {} } });
      const made = await create(crd, { spec: { type: "Headless", ports: [] } }, "v1alpha1");

      expect(await install(crd)).toEqual([
        { name: crd.metadata.name, outcome: "updated", from: "v0.3.0" },
      ]);
      const now = await read(crd);
      expect(now.metadata.labels).toEqual({
        ...SERVICE_IMPORT_CRD.metadata.labels,
        "example.com/team": "network",
      });
      expect(now.metadata.annotations).toMatchObject(old.metadata.annotations);
      expect(now.status?.storedVersions).toEqual(["v1alpha1", "v1beta1"]);
      const ref = { namespace, name: made.metadata.name! };
      expect(await store.get(resourceOf(crd), ref)).toMatchObject({
        apiVersion: `${crd.spec.group}/v1beta1`,
        metadata: { uid: made.metadata.uid },
        spec: { type: "Headless" },
      });
      expect(await install(crd)).toMatchObject([{ outcome: "unchanged" }]);
    });

    test("an apply that was planned on an older state is refused, force or not", async () => {
      const crd = alone(SERVICE_EXPORT_CRD);
      await install(crd);
      const { resourceVersion } = (await read(crd)).metadata;
      const options = { fieldManager: "isthmus-test", force: true };
      const labelled = (value: string, metadata: object) => ({
        ...crd,
        metadata: { ...crd.metadata, ...metadata, labels: { [RELEASE]: value } },
      });
      await store.apply(CUSTOM_RESOURCE_DEFINITION, labelled("v0.5.3", {}), options);
      await expect(
        store.apply(CUSTOM_RESOURCE_DEFINITION, labelled("v0.5.1", { resourceVersion }), options),
      ).rejects.toMatchObject({ code: "Conflict" });
    });
  });

  describe("schemas", () => {
    const imports = alone(SERVICE_IMPORT_CRD);
    const exports = alone(SERVICE_EXPORT_CRD);
    const members = alone(CLUSTER_MEMBER_CRD);
    const properties = alone(CLUSTER_PROPERTY_CRD);
    const spec = { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP", name: "http" }] };
    const condition = {
      type: "Ready",
      status: "True",
      reason: "Ready",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };

    beforeAll(async () => {
      await install(imports, exports, members, properties);
    });

    test("an object written in one version reads back in the other", async () => {
      for (const [version, other] of [
        ["v1alpha1", "v1beta1"],
        ["v1beta1", "v1alpha1"],
      ] as const) {
        const { metadata } = await create(imports, { spec }, version);
        expect(
          await store.get(resourceOf(imports, other), { namespace, name: metadata.name! }),
        ).toMatchObject({ apiVersion: `${imports.spec.group}/${other}`, spec });
      }
    });

    test("an import's status is kept whole, and apart from its spec", async () => {
      const status = {
        clusters: [{ cluster: "east" }],
        endpointSliceObjects: "Present",
        conditions: [{ ...condition, observedGeneration: 1 }],
      };
      const made = await create(imports, { spec, status });
      expect(made.status).toBeUndefined();
      const written = await store.replace(
        resourceOf(imports),
        { ...made, status },
        { subresource: "status" },
      );
      expect(written).toMatchObject({ spec, status });
    });

    test("a field that the schema does not know is dropped", async () => {
      const made = await create(imports, { spec: { ...spec, targetPort: 1 } });
      expect(made.spec).toEqual(spec);
    });

    test.each<[string, object]>([
      ["a type that does not exist", { ...spec, type: "NodePort" }],
      ["no type", { ports: [] }],
      ["no ports", { type: "Headless" }],
      ["a port without a number", { ...spec, ports: [{ name: "http" }] }],
      ["a port that is text", { ...spec, ports: [{ port: "80" }] }],
      ["three ips", { ...spec, ips: ["10.0.0.1", "10.0.0.2", "10.0.0.3"] }],
      ["three families", { ...spec, ipFamilies: ["IPv4", "IPv6", "IPv4"] }],
    ])("an import with %s is refused", async (_, bad) => {
      await expect(create(imports, { spec: bad })).rejects.toMatchObject({ code: "Invalid" });
    });

    test.each<[string, object]>([
      ["slices neither present nor absent", { endpointSliceObjects: "Maybe" }],
      ["one cluster twice", { clusters: [{ cluster: "a" }, { cluster: "a" }] }],
      ["a reason with a space", { conditions: [{ ...condition, reason: "not ready" }] }],
      ["an empty reason", { conditions: [{ ...condition, reason: "" }] }],
      [
        "a condition that is neither true nor false",
        { conditions: [{ ...condition, status: "Yes" }] },
      ],
      ["no message", { conditions: [{ ...condition, message: undefined }] }],
      ["a time that is none", { conditions: [{ ...condition, lastTransitionTime: "noon" }] }],
      ["one condition twice", { conditions: [condition, condition] }],
    ])("an import's status with %s is refused", async (_, status) => {
      const made = await create(imports, { spec });
      await expect(
        store.replace(resourceOf(imports), { ...made, status }, { subresource: "status" }),
      ).rejects.toMatchObject({ code: "Invalid" });
    });

    test("an export needs no spec, and takes labels to pass on as text only", async () => {
      expect((await create(exports, {})).spec).toBeUndefined();
      const exportedLabels = { tier: "web" };
      expect((await create(exports, { spec: { exportedLabels } })).spec).toEqual({
        exportedLabels,
      });
      await expect(
        create(exports, { spec: { exportedLabels: { tier: 1 } } }),
      ).rejects.toMatchObject({ code: "Invalid" });
    });

    test("several conflict reasons fit into one condition", async () => {
      const made = await create(exports, {});
      const conditions = [{ ...condition, type: "Conflict", reason: "PortConflict,TypeConflict" }];
      expect(
        await store.replace(
          resourceOf(exports),
          { ...made, status: { conditions } },
          { subresource: "status" },
        ),
      ).toMatchObject({ status: { conditions } });
    });

    test("a cluster property has a value", async () => {
      expect((await create(properties, { spec: { value: "east" } })).spec).toEqual({
        value: "east",
      });
      for (const bad of [{ spec: { value: "" } }, { spec: {} }]) {
        await expect(create(properties, bad)).rejects.toMatchObject({ code: "Invalid" });
      }
    });

    test("a member declares where it is and which addresses are its own", async () => {
      const spec: ClusterMember["spec"] = {
        topology: { region: "eu-west-1", zones: ["eu-west-1a", "eu-west-1b"] },
        podCIDRs: ["10.1.0.0/16", "fd00:1::/56"],
        serviceCIDRs: ["10.96.0.0/16"],
      };
      expect((await create(members, { spec }, "v1alpha1")).spec).toEqual(spec);
    });

    test.each<[string, object]>([
      ["no spec", {}],
      ["a name that is no cluster id", { metadata: { name: "east.example" }, spec: {} }],
      ["a name that is too long", { metadata: { name: "x".repeat(49) }, spec: {} }],
      ["an address without a prefix", { spec: { podCIDRs: ["10.1.0.0"] } }],
      ["a zone twice", { spec: { topology: { zones: ["a", "a"] } } }],
      ["a region that no label can hold", { spec: { topology: { region: "eu west" } } }],
      [
        "too many ranges",
        { spec: { podCIDRs: Array.from({ length: 33 }, (_, i) => `10.${i}.0.0/16`) } },
      ],
    ])("a member with %s is refused", async (_, bad) => {
      await expect(create(members, bad, "v1alpha1")).rejects.toMatchObject({ code: "Invalid" });
    });
  });

  describeHubSchemas({ alone, install, create, store: () => store });
}
