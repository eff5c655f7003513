import { describe, expect, test } from "vitest";

import { CLUSTER_PROPERTY_CRD } from "../api/about.ts";
import type { CustomResourceDefinition } from "../api/builtin.ts";
import { CRDS } from "../api/crds.ts";
import { CLUSTER_MEMBER_CRD } from "../api/isthmus.ts";
import { SERVICE_IMPORT_CRD } from "../api/mcs.ts";
import { planCrdInstall } from "./crd.ts";

type Mutable<T> = { -readonly [Key in keyof T]: Mutable<T[Key]> };
type Crd = Mutable<CustomResourceDefinition>;

const RELEASE = "multicluster.x-k8s.io/release-version";
const REVISION = "multicluster.x-k8s.io/crd-schema-revision";

/** As an API server gives it back: defaults filled in, status written. */
function onServer(
  crd: CustomResourceDefinition,
  change: (crd: Crd) => void = () => {},
): CustomResourceDefinition {
  const copy = structuredClone(crd) as Crd;
  copy.metadata.uid = "1";
  copy.metadata.resourceVersion = "7";
  copy.spec.names.listKind = `${crd.spec.names.kind}List`;
  Object.assign(copy.spec, { conversion: { strategy: "None" } });
  copy.status = {
    storedVersions: crd.spec.versions.filter((each) => each.storage).map((each) => each.name),
  };
  change(copy);
  return copy;
}

function labelled(release: string | undefined, revision?: string): CustomResourceDefinition {
  return onServer(SERVICE_IMPORT_CRD, (crd) => {
    crd.metadata.labels = {
      ...(release !== undefined && { [RELEASE]: release }),
      ...(revision !== undefined && { [REVISION]: revision }),
    };
  });
}

interface Schema {
  description?: string;
  type?: string;
  maxLength?: number;
  required?: string[];
  properties: Record<string, Schema>;
}

/** Of the version that is stored. */
function schemaOf(crd: Crd): Schema {
  return crd.spec.versions[1]!.schema!.openAPIV3Schema as Schema;
}

function dropEndpointSliceObjects(crd: Crd): void {
  delete schemaOf(crd).properties["status"]!.properties["endpointSliceObjects"];
}

test.each(CRDS.map((crd) => [crd.metadata.name, crd] as const))(
  "%s is created when missing, and what was created needs nothing more",
  (_, crd) => {
    expect(planCrdInstall(undefined, crd)).toEqual({ action: "create", crd });
    expect(planCrdInstall(onServer(crd), crd)).toEqual({ action: "unchanged" });
  },
);

describe("by the release in the labels", () => {
  test.each([
    ["v0.5.1", "9", "v0.5.1 revision 9"],
    ["v0.3.0", "1", "v0.3.0 revision 1"],
    ["v0.4.10", "0", "v0.4.10"],
    ["0.5.1", "0", "0.5.1"],
    ["v0.5.2-rc.1", "0", "v0.5.2-rc.1"],
    ["v0.5.2", undefined, "v0.5.2"],
    ["v0.5.2", "garbage", "v0.5.2"],
    ["v0.5.2", "-1", "v0.5.2"],
  ])("%s revision %s is older, so ours replaces it", (release, revision, from) => {
    expect(planCrdInstall(labelled(release, revision), SERVICE_IMPORT_CRD)).toEqual({
      action: "update",
      crd: SERVICE_IMPORT_CRD,
      from,
    });
  });

  test.each([
    ["v0.5.2", "1", "v0.5.2 revision 1"],
    ["v0.5.10", "0", "v0.5.10"],
    ["v0.6.0-alpha.1", undefined, "v0.6.0-alpha.1"],
    ["v1.0.0", "0", "v1.0.0"],
    ["1.0.0", "x", "1.0.0"],
  ])("%s revision %s is newer, so it stays", (release, revision, newer) => {
    expect(planCrdInstall(labelled(release, revision), SERVICE_IMPORT_CRD)).toEqual({
      action: "keep",
      newer,
      missing: [],
    });
  });

  test("prereleases are ordered part by part, numbers by value and before words", () => {
    const ordered = ["alpha", "alpha.1", "alpha.2", "alpha.10", "alpha.beta", "beta.2", "rc.1"].map(
      (prerelease) => `v0.6.0-${prerelease}`,
    );
    for (const [index, release] of ordered.entries()) {
      for (const [other, otherRelease] of ordered.entries()) {
        const { action } = planCrdInstall(labelled(release, "0"), labelled(otherRelease, "0"));
        expect([release, otherRelease, action]).toEqual([
          release,
          otherRelease,
          index < other ? "update" : index > other ? "keep" : "unchanged",
        ]);
      }
    }
  });

  test("a newer one that no longer serves a version of ours says which", () => {
    const existing = onServer(SERVICE_IMPORT_CRD, (crd) => {
      crd.metadata.labels = { [RELEASE]: "v0.7.0" };
      crd.spec.versions[0]!.served = false;
    });
    expect(planCrdInstall(existing, SERVICE_IMPORT_CRD)).toEqual({
      action: "keep",
      newer: "v0.7.0",
      missing: ["v1alpha1"],
    });
  });

  test("another project's numbers do not count", () => {
    const existing = onServer(CLUSTER_MEMBER_CRD, (crd) => {
      crd.metadata.labels = { [RELEASE]: "v9.0.0" };
      crd.spec.names.shortNames = [];
    });
    expect(planCrdInstall(existing, CLUSTER_MEMBER_CRD).action).toBe("update");
  });

  test("a changed copy of the same release is put right", () => {
    const existing = onServer(SERVICE_IMPORT_CRD, (crd) => {
      dropEndpointSliceObjects(crd);
    });
    expect(planCrdInstall(existing, SERVICE_IMPORT_CRD)).toEqual({
      action: "update",
      crd: SERVICE_IMPORT_CRD,
      from: "v0.5.2",
    });
  });
});

describe("without a release to compare", () => {
  test.each([[undefined], [""], ["banana"], ["v1"], ["v1.2.3.4"], ["v99999999999.0.0"]])(
    "label %j: a copy that lacks something of ours is replaced",
    (release) => {
      const existing = onServer(SERVICE_IMPORT_CRD, (crd) => {
        crd.metadata.labels = release === undefined ? {} : { [RELEASE]: release };
        dropEndpointSliceObjects(crd);
      });
      expect(planCrdInstall(existing, SERVICE_IMPORT_CRD)).toEqual({
        action: "update",
        crd: SERVICE_IMPORT_CRD,
        from: undefined,
      });
    },
  );

  test("a copy that has all of ours stays as its installer left it, other wording and further fields included", () => {
    const existing = onServer(CLUSTER_PROPERTY_CRD, (crd) => {
      delete crd.metadata.labels;
      crd.spec.names.categories = ["fleet"];
      const schema = schemaOf(crd);
      schema.description = "Something else.";
      schema.properties["extra"] = { type: "string", properties: {} };
    });
    expect(planCrdInstall(existing, CLUSTER_PROPERTY_CRD)).toEqual({ action: "unchanged" });
  });

  test.each<[string, (schema: Schema, value: Schema) => void]>([
    ["a stricter limit", (_, value) => (value.maxLength = 8)],
    ["a further required field", (schema) => (schema.required = ["spec", "status"])],
    ["another type", (_, value) => (value.type = "integer")],
    ["no schema for spec", (schema) => delete schema.properties["spec"]],
  ])("a copy with %s might refuse or drop what we write, so it is replaced", (_, change) => {
    const existing = onServer(CLUSTER_PROPERTY_CRD, (crd) => {
      delete crd.metadata.labels;
      const schema = schemaOf(crd);
      change(schema, schema.properties["spec"]!.properties["value"]!);
    });
    expect(planCrdInstall(existing, CLUSTER_PROPERTY_CRD).action).toBe("update");
  });

  test("the ClusterProperty of before v1beta1 is brought up to date", () => {
    const existing = onServer(CLUSTER_PROPERTY_CRD, (crd) => {
      delete crd.metadata.labels;
      crd.spec.versions = [{ ...crd.spec.versions[0]!, storage: true }];
      crd.status = { storedVersions: ["v1alpha1"] };
    });
    expect(planCrdInstall(existing, CLUSTER_PROPERTY_CRD)).toEqual({
      action: "update",
      crd: CLUSTER_PROPERTY_CRD,
      from: undefined,
    });
  });

  test.each(["v1", "v1beta2", "v2alpha1"])(
    "version %s: outranks ours only if it is higher",
    (name) => {
      const existing = onServer(CLUSTER_PROPERTY_CRD, (crd) => {
        delete crd.metadata.labels;
        crd.spec.versions[1]!.name = name;
      });
      expect(planCrdInstall(existing, CLUSTER_PROPERTY_CRD)).toMatchObject(
        name === "v2alpha1"
          ? { action: "update" }
          : { action: "keep", newer: name, missing: ["v1beta1"] },
      );
    },
  );
});

/** With an ancient storage version besides today's two. */
function ancient(storedVersions: readonly string[]): CustomResourceDefinition {
  return onServer(SERVICE_IMPORT_CRD, (crd) => {
    crd.metadata.labels = { [RELEASE]: "v0.1.0" };
    const version = structuredClone(crd.spec.versions[0]!);
    crd.spec.versions = [...crd.spec.versions, { ...version, name: "v0alpha1", storage: true }];
    crd.status = { storedVersions: [...storedVersions] };
  });
}

describe("versions that objects are stored under", () => {
  test("stay, no longer as the storage version", () => {
    const plan = planCrdInstall(ancient(["v0alpha1"]), SERVICE_IMPORT_CRD);
    expect(plan.action === "update" && plan.crd.spec.versions).toMatchObject([
      { name: "v1alpha1", storage: false },
      { name: "v1beta1", storage: true },
      { name: "v0alpha1", storage: false, served: true },
    ]);
  });

  test("go once nothing is stored under them", () => {
    const plan = planCrdInstall(ancient(["v1beta1"]), SERVICE_IMPORT_CRD);
    expect(plan.action === "update" && plan.crd).toEqual(SERVICE_IMPORT_CRD);
  });
});

test("an update names only what is ours, so that labels and annotations of others stay", () => {
  const existing = onServer(SERVICE_IMPORT_CRD, (crd) => {
    crd.metadata.labels = { [RELEASE]: "v0.5.0", "app.kubernetes.io/part-of": "cilium" };
    crd.metadata.annotations = { note: "x" };
  });
  const plan = planCrdInstall(existing, SERVICE_IMPORT_CRD);
  expect(plan.action === "update" && plan.crd.metadata).toEqual(SERVICE_IMPORT_CRD.metadata);
});

test("a CRD that is being deleted is waited for, however new it is", () => {
  const existing = onServer(SERVICE_IMPORT_CRD, (crd) => {
    crd.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    crd.metadata.labels = { [RELEASE]: "v9.0.0" };
  });
  expect(planCrdInstall(existing, SERVICE_IMPORT_CRD)).toEqual({ action: "wait" });
});
