// Request paths: every shape that the API has, and the names that must not become one.

import { describe, expect, it } from "vitest";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../api/builtin.ts";
import { isStoreError } from "../ports/store.ts";
import { buildPath, buildQuery } from "./path.ts";

describe("buildPath", () => {
  it("puts the core group under /api and others under /apis", () => {
    expect(buildPath(SERVICE, {})).toBe("/api/v1/services");
    expect(buildPath(ENDPOINT_SLICE, {})).toBe("/apis/discovery.k8s.io/v1/endpointslices");
  });

  it("names namespace, object and subresource in that order", () => {
    expect(buildPath(SERVICE, { namespace: "a" })).toBe("/api/v1/namespaces/a/services");
    expect(buildPath(SERVICE, { namespace: "a", name: "b", subresource: "status" })).toBe(
      "/api/v1/namespaces/a/services/b/status",
    );
    expect(buildPath(NAMESPACE, { name: "a" })).toBe("/api/v1/namespaces/a");
  });

  it("leaves the namespace out for a cluster-scoped resource", () => {
    expect(buildPath(NAMESPACE, { namespace: "x", name: "a" })).toBe("/api/v1/namespaces/a");
  });

  it("encodes what is special in a URL", () => {
    expect(buildPath(NAMESPACE, { name: "a:b?c#d" })).toBe("/api/v1/namespaces/a%3Ab%3Fc%23d");
  });

  it.each(["", ".", "..", "a/b", "a%2fb"])("refuses %j as a name or namespace", (bad) => {
    expect(() => buildPath(NAMESPACE, { name: bad })).toThrow(/cannot be a name/);
    expect(() => buildPath(SERVICE, { namespace: bad, name: "a" })).toThrow(
      /cannot be a namespace/,
    );
  });

  it("refuses a namespaced object without a namespace", () => {
    expect(() => buildPath(SERVICE, { name: "a" })).toThrow(
      expect.toSatisfy((error) => isStoreError(error, "BadRequest")),
    );
  });
});

describe("buildQuery", () => {
  it("keeps the order, encodes values and leaves out what is undefined", () => {
    expect(buildQuery({ watch: true, labelSelector: "a=b,c", limit: 5, continue: undefined })).toBe(
      "?watch=true&labelSelector=a%3Db%2Cc&limit=5",
    );
    expect(buildQuery({ limit: undefined })).toBe("");
  });
});
