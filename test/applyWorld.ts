// Test helper: an object and its managers, changed by server-side apply and by updates.

import type { ManagedFieldsEntry } from "../src/api/object.ts";
import { applyPatch, type ApplyResult, trackUpdate } from "../src/embedded/apply/apply.ts";
import type { JsonObject, Schema } from "../src/embedded/types.ts";

export const SCHEMA: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        name: { type: "string" },
        atomic: { type: "array", items: { type: "string" } },
        set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "protocol"],
          items: {
            type: "object",
            required: ["port"],
            properties: {
              port: { type: "integer" },
              protocol: { type: "string", default: "TCP" },
              name: { type: "string" },
            },
          },
        },
        whole: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          additionalProperties: { type: "string" },
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: { type: "object", properties: { phase: { type: "string" } } },
  },
};

export const IDENTITY = { apiVersion: "x.dev/v1", kind: "Thing" };
export const FIRST = "2030-01-01T00:00:00Z";
export const LATER = "2030-01-01T00:01:00Z";

export interface State {
  readonly object: JsonObject;
  readonly managedFields: readonly ManagedFieldsEntry[];
}

/** One object and the writes to it. */
export class World {
  state: State | undefined;
  time = FIRST;

  tryApply(manager: string, content: JsonObject, options: { force?: boolean } = {}): ApplyResult {
    return applyPatch({
      schema: SCHEMA,
      definitions: {},
      live: this.state?.object,
      liveManagedFields: this.state?.managedFields ?? [],
      patch: { ...IDENTITY, metadata: { name: "a" }, ...content },
      manager,
      force: options.force ?? false,
      apiVersion: IDENTITY.apiVersion,
      resetFields: [["status"]],
      time: this.time,
    });
  }

  apply(manager: string, content: JsonObject, options: { force?: boolean } = {}): State {
    const result = this.tryApply(manager, content, options);
    if (result.kind === "conflict") throw new Error(result.message);
    this.state = result;
    return result;
  }

  update(manager: string, content: JsonObject): State {
    const after = { ...IDENTITY, metadata: { name: "a" }, ...content };
    const managedFields = trackUpdate({
      schema: SCHEMA,
      definitions: {},
      before: this.stored(),
      after,
      manager,
      operation: "Update",
      apiVersion: IDENTITY.apiVersion,
      resetFields: [["status"]],
      time: this.time,
    });
    this.state = { object: after, managedFields };
    return this.state;
  }

  stored(): JsonObject | undefined {
    if (this.state === undefined) return undefined;
    return withManagedFields(this.state);
  }
}

export function withManagedFields({ object, managedFields }: State): JsonObject {
  const metadata = object["metadata"] as JsonObject;
  return { ...object, metadata: { ...metadata, managedFields: managedFields as never } };
}

export function fieldsOf(state: State, manager: string, operation = "Apply"): unknown {
  return state.managedFields.find(
    (entry) => entry.manager === manager && entry.operation === operation,
  )?.fieldsV1;
}
