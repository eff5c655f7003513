import { expect, test } from "vitest";
import type { EndpointShareObject } from "../api/hubshare.ts";
import { packEndpointShare, serviceOfShare, unpackSpec } from "./packed.ts";

const SPEC = { slice: "web-1", addressType: "IPv4", ports: [], endpoints: [] };

function aStored(name: string, spec: unknown, namespace = "isthmus-member-east") {
  const metadata = {
    namespace,
    name,
    uid: "uid-1",
    resourceVersion: "7",
    labels: { note: "x" },
    annotations: { note: "x" },
    managedFields: [{ manager: "m" }],
  };
  const object = { apiVersion: "isthmus.dev/v1alpha1", kind: "EndpointShare", metadata, spec };
  return object as unknown as EndpointShareObject;
}

test("a share keeps what writes and readers need, and nothing else", () => {
  const packed = packEndpointShare(aStored("shop.web.abc", SPEC));
  expect(packed).toEqual({
    apiVersion: "isthmus.dev/v1alpha1",
    kind: "EndpointShare",
    metadata: {
      namespace: "isthmus-member-east",
      name: "shop.web.abc",
      uid: "uid-1",
      resourceVersion: "7",
    },
    cluster: "east",
    text: `[${JSON.stringify(SPEC)}]`,
    endpoints: SPEC.endpoints.length,
  });
  expect(serviceOfShare(packed)).toBe("shop/web");
  expect(unpackSpec(packed)).toEqual(SPEC);
});

test("text beyond Latin-1 is kept in one byte for each character, and comes out as it was", () => {
  const spec = { ...SPEC, slice: 'café ☕ 🚢 "quoted" \\ \u2028' };
  const packed = packEndpointShare(aStored("shop.web.abc", spec));
  expect(packed.text).toMatch(/^[\u0020-\u00ff]*$/);
  expect(unpackSpec(packed)).toEqual(spec);
});

test("what is larger than any share can be is not kept", () => {
  const spec = { ...SPEC, slice: "x".repeat(2_000_000) };
  expect(packEndpointShare(aStored("shop.web.abc", spec)).text).toBeUndefined();
});

test("of what belongs to no member or to no service nothing is kept", () => {
  expect(packEndpointShare(aStored("shop.web.abc", SPEC, "default")).text).toBeUndefined();
  expect(packEndpointShare(aStored("a.b.c.d.e", SPEC)).text).toBeUndefined();
});
