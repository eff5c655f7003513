import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ISTHMUS_RELEASE } from "./isthmus.ts";
import { SERVICE_IMPORT_CRD } from "./mcs.ts";
import {
  CLUSTER_ID_PROPERTY,
  CLUSTERSET_PROPERTY,
  DERIVED_SERVICE_ANNOTATION,
  FIELD_MANAGER,
  findCrdReleaseOwner,
  isReservedPropertyName,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  parseClusterId,
  readCrdRelease,
  SERVICE_NAME_LABEL,
  serviceKey,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
  splitServiceKey,
} from "./names.ts";

describe("labels and annotations", () => {
  test("are spelled as the MCS API and Kubernetes spell them", () => {
    expect([
      SERVICE_NAME_LABEL,
      SOURCE_CLUSTER_LABEL,
      DERIVED_SERVICE_ANNOTATION,
      MANAGED_BY_LABEL,
      KUBE_SERVICE_NAME_LABEL,
      CLUSTER_ID_PROPERTY,
      CLUSTERSET_PROPERTY,
    ]).toEqual([
      "multicluster.kubernetes.io/service-name",
      "multicluster.kubernetes.io/source-cluster",
      "multicluster.kubernetes.io/derived-service",
      "endpointslice.kubernetes.io/managed-by",
      "kubernetes.io/service-name",
      "cluster.clusterset.k8s.io",
      "clusterset.k8s.io",
    ]);
  });

  test("our slices never claim to come from Kubernetes' own controller", () => {
    expect(SLICE_MANAGER).not.toMatch(/k8s\.io|kubernetes\.io/);
    expect(SLICE_MANAGER).toMatch(/^[a-z0-9.-]{1,63}$/);
    expect(FIELD_MANAGER).toBe("isthmus");
  });
});

describe("cluster property names", () => {
  test.each(["cluster.clusterset.k8s.io", "clusterset.k8s.io", "k8s.io", "a.kubernetes.io"])(
    "%s is reserved",
    (name) => {
      expect(isReservedPropertyName(name)).toBe(true);
    },
  );

  test.each(["example.com", "k8s.io.example.com", "notk8s.io", "fingerprint.isthmus.dev"])(
    "%s is free",
    (name) => {
      expect(isReservedPropertyName(name)).toBe(false);
    },
  );
});

describe("cluster ids", () => {
  test.each(["east", "e", "1", "a--b", "x".repeat(63), "8d7c1f0e-0000-4a6e-9c59-3f1d2f6a7b11"])(
    "%s is one",
    (id) => {
      expect(parseClusterId(id)).toEqual({ ok: true, value: id });
    },
  );

  test.each([
    ["", "The cluster id is empty; choose a name such as east-1."],
    ["x".repeat(64), "The cluster id has 64 characters; at most 63 are allowed."],
    [
      "east.example",
      'The cluster id "east.example" has a dot; it must be a single DNS label, such as east-example.',
    ],
    [
      "East_1",
      'The cluster id "East_1" has upper-case letters; DNS labels are lower-case, such as east-1.',
    ],
    ["a_b", 'The cluster id "a_b" has the character "_"; only a-z, 0-9 and - are allowed.'],
    ["ü", 'The cluster id "ü" has the character "ü"; only a-z, 0-9 and - are allowed.'],
    ["a😀", 'The cluster id "a😀" has the character "😀"; only a-z, 0-9 and - are allowed.'],
    [
      "east\n",
      'The cluster id "east\\n" has the character "\\n"; only a-z, 0-9 and - are allowed.',
    ],
    ["-a", 'The cluster id "-a" must start and end with a letter or a digit.'],
    ["a-", 'The cluster id "a-" must start and end with a letter or a digit.'],
    [".", 'The cluster id "." has a dot; it must be a single DNS label, such as east-1.'],
  ])("%j is refused with a sentence that says why", (text, problem) => {
    expect(parseClusterId(text)).toEqual({ ok: false, problem });
  });

  test("whatever is accepted is one DNS label, and whatever is refused comes with a sentence", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 70, unit: fc.constantFrom("a", "Z", "0", "-", ".", "_", " ", "é") }),
        (text) => {
          const parsed = parseClusterId(text);
          const isLabel =
            text.length > 0 && text.length < 64 && /^[a-z0-9-]+$/.test(text) && !/^-|-$/.test(text);
          expect(parsed.ok).toBe(isLabel);
          expect(parsed.ok || /^The cluster id .*\.$/.test(parsed.problem)).toBe(true);
        },
      ),
    );
  });
});

test("a service key is namespace and name, and comes apart again", () => {
  const ref = { namespace: "shop", name: "checkout" };
  const key = serviceKey(ref);
  expect(key).toBe("shop/checkout");
  expect(splitServiceKey(key)).toEqual(ref);
});

test("the release of a CRD is read from the labels of whoever numbers it", () => {
  const labels = { ...SERVICE_IMPORT_CRD.metadata.labels, app: "x" };
  expect(findCrdReleaseOwner(labels)).toBe("multicluster.x-k8s.io");
  expect(readCrdRelease(labels, "multicluster.x-k8s.io")).toEqual({
    release: "v0.5.2",
    revision: "0",
  });
  expect(findCrdReleaseOwner(ISTHMUS_RELEASE)).toBe("isthmus.dev");
  expect(findCrdReleaseOwner(undefined)).toBeUndefined();
  expect(readCrdRelease(undefined, "isthmus.dev")).toEqual({
    release: undefined,
    revision: undefined,
  });
});
