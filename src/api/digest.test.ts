import { expect, test } from "vitest";
import { derivedServiceName, importedSliceName } from "./digest.ts";
import { type ClusterId, serviceKey } from "./names.ts";

test("R60: the derived Service has the name that other MCS tools compute", () => {
  const names = [
    { namespace: "my-ns", name: "my-svc" },
    { namespace: "default", name: "hello" },
    { namespace: "test", name: "myservice" },
  ].map((ref) => derivedServiceName(serviceKey(ref)));
  expect(names).toEqual(["derived-a2v4k9sqn6", "derived-k5cuvo1ge4", "derived-ugeabue9o3"]);
});

test("R52: slices of two services, clusters or source slices never share a name", () => {
  const name = (namespace: string, cluster: string, slice: string): string =>
    importedSliceName({
      service: serviceKey({ namespace, name: "web" }),
      cluster: cluster as ClusterId,
      slice,
    });
  const names = [
    name("a", "east", "web-1"),
    name("a", "east", "web-2"),
    name("a", "west", "web-1"),
    name("b", "east", "web-1"),
  ];
  expect(new Set(names).size).toBe(4);
  expect(names[0]).toMatch(/^web-east-[0-9a-v]{10}$/);
});
