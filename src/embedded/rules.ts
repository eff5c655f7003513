// Embedded server, the seam for built-in behaviour: what a kind may add to the general create, update and delete. Types only.

import type { KubeObject } from "../api/object.ts";
import type { NameRule } from "./name.ts";
import type { ApiError } from "./status.ts";
import type { FieldFailure } from "./types.ts";

export interface RuleContext {
  readonly nowMs: number;
  /** RFC 3339, whole seconds. */
  readonly time: string;
  readonly dryRun: boolean;
  readonly subresource?: string;
  /** Of a delete, when it says so. */
  readonly gracePeriodSeconds?: number;
}

/** Objects that come in are frozen or about to be: hooks return new ones and share what they keep. */
export interface Rules {
  readonly checkName: NameRule;
  /** PUT on a missing object creates it. */
  readonly createOnUpdate?: boolean;
  /** PUT without a resourceVersion is refused unless this is set. */
  readonly unconditionalUpdate?: boolean;
  /** A create may bring its status along. */
  readonly keepsStatusOnCreate?: boolean;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** Keeps metadata.generation; says when an update raises it. */
  readonly raisesGeneration?: (next: KubeObject, old: KubeObject) => boolean;
  /** Defaults that the schema does not state; fields they set belong to the writer. */
  readonly applyDefaults?: (object: KubeObject, old: KubeObject | undefined) => KubeObject;
  readonly prepareCreate?: (object: KubeObject, context: RuleContext) => KubeObject;
  readonly prepareUpdate?: (next: KubeObject, old: KubeObject, context: RuleContext) => KubeObject;
  readonly prepareStatus?: (next: KubeObject, old: KubeObject, context: RuleContext) => KubeObject;
  readonly validate?: (object: KubeObject) => readonly FieldFailure[];
  /** What was stored but will not be acted on as a real server would, told to the writer. */
  readonly warn?: (object: KubeObject) => readonly string[];
  readonly validateUpdate?: (next: KubeObject, old: KubeObject) => readonly FieldFailure[];
  readonly refusesDeleteCollection?: boolean;
  readonly refuseDelete?: (object: KubeObject) => ApiError | undefined;
  /** Marks an object for deletion; undefined when it may go at once. */
  readonly prepareDelete?: (object: KubeObject, context: RuleContext) => KubeObject | undefined;
  /** What still holds an object that is being deleted, beside metadata.finalizers. */
  readonly holdsDeletion?: (object: KubeObject) => boolean;
  /** Dotted paths that field selectors may name, beside metadata.name and metadata.namespace. */
  readonly selectableFields?: readonly string[];
}
