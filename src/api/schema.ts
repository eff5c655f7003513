// Schema parts that several kinds share: conditions, and the read-only TypeScript view of a schema.

import { Type } from "typebox";

import type { Condition } from "./object.ts";

/** What a schema's objects look like to us: everything we read is read-only. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

/** A string field whose values TypeScript knows, but which the published schema leaves open. */
export function openText<T extends string>(options: { readonly description: string }) {
  return Type.Unsafe<T>(Type.String(options));
}

/** Field for field the limits of metav1.Condition. */
const CONDITION_SCHEMA = Type.Object(
  {
    type: Type.String({
      description:
        "Which aspect of the object this speaks about, such as Ready. One entry per type.",
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    }),
    status: Type.Enum(["True", "False", "Unknown"], {
      description: "Whether it holds: True, False, or Unknown while nobody can tell.",
    }),
    reason: Type.String({
      description: "Why, as a single word for programs. Several may be joined with commas.",
      minLength: 1,
      maxLength: 1024,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    }),
    message: Type.String({
      description: "Why, as a sentence for people. May be empty.",
      maxLength: 32768,
    }),
    lastTransitionTime: Type.String({
      description: "When status last changed, not when this was last written.",
      format: "date-time",
    }),
    observedGeneration: Type.Optional(
      Type.Integer({
        description:
          "The metadata.generation this was judged on. If it is behind, the condition is about an older spec.",
        format: "int64",
        minimum: 0,
      }),
    ),
  },
  { description: "One judgement about the object, and since when it stands." },
);

export function conditions(options: { readonly description: string; readonly maxItems?: number }) {
  return Type.Unsafe<Condition[]>(
    Type.Array(CONDITION_SCHEMA, {
      ...options,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    }),
  );
}
