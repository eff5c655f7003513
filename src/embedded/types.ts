// The embedded API server's own vocabulary: what its storage, schema, patch and HTTP parts hand to each other.

import type { KubeObject, Resource } from "../api/object.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** JSON Schema as API servers publish it: built-in types (with $ref into `definitions`) and CRDs (without). */
export interface Schema {
  readonly $ref?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly nullable?: boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  /** CEL rules: kept, never evaluated. */
  readonly "x-kubernetes-validations"?: readonly Json[];
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}

export type Definitions = Readonly<Record<string, Schema>>;

/** One field that a schema or a rule refuses, as it appears in `Status.details.causes`. */
export interface FieldFailure {
  /** As in "spec.ports[0].port". */
  readonly field: string;
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueDuplicate"
    | "FieldValueForbidden"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueTypeInvalid";
  /** As the API server words it: 'Invalid value: "x": must be …'. */
  readonly message: string;
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  /** CRD columns name a path; built-in types compute the cell. */
  readonly jsonPath?: string;
  readonly cell?: (object: KubeObject, nowMs: number) => Json;
}

/** One version of one kind that the server serves. */
export interface ServedType {
  readonly resource: Resource;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly hasStatus: boolean;
  readonly schema: Schema;
  readonly definitions: Definitions;
  /** Without the Name column, which every table starts with. */
  readonly columns: readonly Column[];
  readonly builtin: boolean;
  /** Version that objects are stored under; all served versions of a kind share one store. */
  readonly storageVersion: string;
}

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Without the query: "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices/b". */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case: content type decides the patch type. */
  readonly contentType?: string;
  readonly userAgent?: string;
  /** Parsed JSON. */
  readonly body?: Json;
}

export interface ObjectAnswer {
  readonly kind: "object";
  readonly status: number;
  /** An object, a list, or a `Status`. */
  readonly body: JsonObject;
  /** The type served, when `body` is an object or a list of it: tables need it. */
  readonly served?: ServedType;
  /** Become `Warning` headers. */
  readonly warnings?: readonly string[];
  readonly retryAfterSeconds?: number;
}

/** What a watch sends, in the shape of the wire. */
export interface WireEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: JsonObject;
}

export interface WatchAnswer {
  readonly kind: "watch";
  readonly served: ServedType;
  /**
   * Starts the stream: past events are delivered before this returns, later ones as they happen.
   * `onEnd` is called once when the server ends it; `clean: false` stands for a cut connection.
   */
  start(
    onEvent: (event: WireEvent) => void,
    onEnd: (end: { readonly clean: boolean }) => void,
  ): { stop(): void };
}

export type ApiAnswer = ObjectAnswer | WatchAnswer;
