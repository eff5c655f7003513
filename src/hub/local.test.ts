import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../api/object.ts";
import { renderAgentAccess } from "./local.ts";

const examples = parseAllDocuments(
  readFileSync(new URL("../../examples/rbac.yaml", import.meta.url), "utf8"),
).map((document) => document.toJS() as KubeObject);

test("the agent's role that people read is the one that join installs", () => {
  const shown = examples.find(({ metadata }) => metadata.name === "isthmus-agent");
  const installed = renderAgentAccess().find(({ object }) => object.kind === "ClusterRole");
  expect(installed?.object).toEqual(shown);
});

test("an agent may do in a cluster what central may, and nothing more", () => {
  const rulesOf = (name: string): unknown =>
    (examples.find(({ metadata }) => metadata.name === name) as { rules?: unknown } | undefined)
      ?.rules;
  expect(rulesOf("isthmus-agent")).toEqual(rulesOf("isthmus-central"));
});

test("everything that is installed is marked as ours, and in an order in which it can be created", () => {
  const objects = renderAgentAccess().map(({ object }) => object);
  expect(objects[0]?.kind).toBe("Namespace");
  for (const { metadata } of objects) {
    expect(metadata.labels).toEqual({ "isthmus.dev/managed": "true" });
  }
  expect(objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name])).toEqual([
    ["Namespace", undefined, "isthmus-system"],
    ["ServiceAccount", "isthmus-system", "isthmus-agent"],
    ["ClusterRole", undefined, "isthmus-agent"],
    ["ClusterRoleBinding", undefined, "isthmus-agent"],
    ["Role", "isthmus-system", "isthmus-agent"],
    ["RoleBinding", "isthmus-system", "isthmus-agent"],
  ]);
});
