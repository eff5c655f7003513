// Contract suite: a custom resource with one field for each rule of structural schemas, two versions and a status.

import { CUSTOM_RESOURCE_DEFINITION as CRD } from "../../src/api/builtin.ts";
import { defineResource, type Resource } from "../../src/api/object.ts";
import { unique } from "./objects.ts";
import { at, type Wire } from "./wire.ts";

export interface Widgets {
  readonly group: string;
  readonly crdName: string;
  readonly v1: Resource;
  readonly v1beta1: Resource;
}

export const WIDGET_SCHEMA = {
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10, default: 1 },
        color: { type: "string", enum: ["red", "green"] },
        code: { type: "string", pattern: "^[A-Z]+$", maxLength: 8 },
        nested: {
          type: "object",
          properties: { mode: { type: "string", default: "auto" } },
        },
        tags: {
          type: "array",
          maxItems: 3,
          items: { type: "string" },
          "x-kubernetes-list-type": "set",
        },
        parts: {
          type: "array",
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, value: { type: "string" } },
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
        },
        sequence: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "atomic" },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        amount: { "x-kubernetes-int-or-string": true },
      },
    },
    status: {
      type: "object",
      properties: {
        observed: { type: "integer" },
        conditions: {
          type: "array",
          items: {
            type: "object",
            required: ["type", "status"],
            properties: {
              type: { type: "string" },
              status: { type: "string" },
              reason: { type: "string" },
            },
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
        },
      },
    },
  },
};

export function widgetsOf(group: string): Widgets {
  const names = { kind: "Widget", plural: "widgets", namespaced: true };
  return {
    group,
    crdName: `widgets.${group}`,
    v1: defineResource({ apiVersion: `${group}/v1`, ...names }),
    v1beta1: defineResource({ apiVersion: `${group}/v1beta1`, ...names }),
  };
}

export function aWidgetDefinition(group: string, schema: unknown = WIDGET_SCHEMA) {
  const version = {
    served: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {} },
    additionalPrinterColumns: [
      { name: "Size", type: "integer", jsonPath: ".spec.size" },
      { name: "Color", type: "string", jsonPath: ".spec.color" },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets", shortNames: ["wi"] },
      versions: [
        { ...version, name: "v1", storage: true },
        { ...version, name: "v1beta1", storage: false },
      ],
    },
  };
}

export function aWidget(
  widgets: Widgets,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
) {
  return { apiVersion: `${widgets.group}/v1`, kind: "Widget", metadata: { name }, spec };
}

/** Resolves when the kind is served. */
export async function installWidgets(
  server: { readonly wire: Wire },
  group = `${unique("g")}.example.org`,
): Promise<Widgets> {
  const widgets = widgetsOf(group);
  const created = await server.wire.post(at(CRD, ""), aWidgetDefinition(group));
  if (created.status !== 201) {
    throw new Error(`no widgets: ${JSON.stringify(created.body)}`);
  }
  await until(async () => (await server.wire.get(at(widgets.v1, ""))).status === 200);
  return widgets;
}

/** Resolves when the definition, and so every object of it, is gone. */
export async function removeWidgets(
  server: { readonly wire: Wire },
  widgets: Widgets,
): Promise<void> {
  await server.wire.delete(at(CRD, "", widgets.crdName));
  await until(async () => (await server.wire.get(at(CRD, "", widgets.crdName))).status === 404);
}

const POLL_MS = 25;
const DEADLINE_MS = 60_000;

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isDone())) {
    if (performance.now() > deadline) {
      throw new Error("the server did not reach the expected state in a minute");
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
