// Bodies as kubectl 1.36 sends them.

import { expect, test } from "vitest";
import { decodeProtobuf } from "./protobuf.ts";

function decode(base64: string): unknown {
  return decodeProtobuf(Buffer.from(base64, "base64"));
}

test.each([
  [
    "namespace",
    "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhoKEgoCcTESABoAIgAqADIAOABCABIAGgIKABoAIgA=",
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "q1" } },
  ],
  [
    "configmap",
    "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYxIAGgAiACoAMgA4AEIAEgYKAWESAWIaACIA",
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "b" } },
  ],
  [
    "secret generic",
    "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA=",
    { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { a: "Yg==" } },
  ],
  [
    "serviceaccount",
    "azhzAAoUCgJ2MRIOU2VydmljZUFjY291bnQSEwoRCgF4EgAaACIAKgAyADgAQgAaACIA",
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "x" } },
  ],
  [
    "service clusterip",
    "azhzAAoNCgJ2MRIHU2VydmljZRJpCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkIKGwoHODAtODA4MBIDVENQGFAiBwgAEJA/GgAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        ports: [{ name: "80-8080", protocol: "TCP", port: 80, targetPort: 8080 }],
        selector: { app: "web" },
        type: "ClusterIP",
      },
    },
  ],
])("what kubectl create %s sends is read as if it were JSON", (_command, sent, expected) => {
  expect(decode(sent)).toEqual(expected);
});

test("a kind that is not known is left to the caller", () => {
  const envelope = Buffer.concat([
    Buffer.from("k8s\0"),
    Buffer.from([10, 9, 10, 2]),
    Buffer.from("v1"),
    Buffer.from([18, 3]),
    Buffer.from("Pod"),
  ]);
  expect(decodeProtobuf(envelope)).toBeUndefined();
});

test.each([
  ["no magic number", Buffer.from("{}")],
  ["a length beyond the end", Buffer.from("k8s\0\x0a\x7f")],
  ["a number that does not end", Buffer.from([0x6b, 0x38, 0x73, 0, 0xff, 0xff])],
  ["an unknown wire type", Buffer.from("k8s\0\x0d\0\0\0\0")],
])("bytes with %s are refused", (_what, bytes) => {
  expect(() => decodeProtobuf(bytes)).toThrow(/^it /);
});

test("every way to cut a message short is refused or read, never endless", () => {
  const whole = Buffer.from(
    "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYxIAGgAiACoAMgA4AEIAEgYKAWESAWIaACIA",
    "base64",
  );
  const outcomes = Array.from({ length: whole.length }, (_, length) => {
    try {
      return typeof decodeProtobuf(whole.subarray(0, length));
    } catch (error) {
      return error instanceof Error ? "refused" : "odd";
    }
  });
  expect(new Set(outcomes)).toEqual(new Set(["refused", "undefined", "object"]));
});
