import { expect, test } from "vitest";
import { createPolicy } from "./policy.ts";

test.each([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "default",
  "isthmus-system",
  "isthmus-hub",
  "isthmus-member-east",
])("R68: namespace %s is denied unless it is allowed", (namespace) => {
  expect(createPolicy({}).isDenied(namespace)).toBe(true);
  expect(createPolicy({ allowed: [namespace] }).isDenied(namespace)).toBe(false);
});

test("R68: any other namespace is allowed unless it is denied", () => {
  expect(createPolicy({}).isDenied("shop")).toBe(false);
  expect(createPolicy({ denied: ["shop"] }).isDenied("shop")).toBe(true);
});

test("R68: allowing one namespace allows no other", () => {
  expect(createPolicy({ allowed: ["default"] }).isDenied("kube-system")).toBe(true);
});

test("R68: what is both denied and allowed is allowed", () => {
  expect(createPolicy({ denied: ["shop"], allowed: ["shop"] }).isDenied("shop")).toBe(false);
});

test("R14: a missing namespace is waited for unless told otherwise", () => {
  expect(createPolicy({}).namespaces).toBe("wait");
  expect(createPolicy({ namespaces: "create" }).namespaces).toBe("create");
});
