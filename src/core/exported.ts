// Import: exported labels and annotations in, those of the ServiceImport out, and which of them have to go again
// (R35, R36). What others put on the import stays.

import {
  DERIVED_SERVICE_ANNOTATION,
  EXPORTED_KEYS_ANNOTATION,
  MANAGED_LABEL,
} from "../api/names.ts";
import type { ObjectMeta } from "../api/object.ts";
import { compareText } from "./order.ts";

type Entries = Readonly<Record<string, string>>;
type Marks = Required<Pick<ObjectMeta, "labels" | "annotations">>;

/** Ours alone: an export can neither set nor override them (R36). */
const OUR_ANNOTATIONS = [DERIVED_SERVICE_ANNOTATION, EXPORTED_KEYS_ANNOTATION];
const LABEL_PREFIX = "label:";
const ANNOTATION_PREFIX = "annotation:";

export function renderMarks(exported: Marks, derivedName: string | undefined): Marks {
  const annotations = omit(exported.annotations, OUR_ANNOTATIONS);
  const keys = [
    ...Object.keys(exported.labels).map((key) => LABEL_PREFIX + key),
    ...Object.keys(annotations).map((key) => ANNOTATION_PREFIX + key),
  ].toSorted(compareText);
  return {
    labels: { ...exported.labels, [MANAGED_LABEL]: "true" },
    annotations: {
      ...annotations,
      ...(derivedName === undefined ? {} : { [DERIVED_SERVICE_ANNOTATION]: derivedName }),
      // Without a record nobody could tell an exported label that has to go from one that a user added.
      ...(keys.length === 0 ? {} : { [EXPORTED_KEYS_ANNOTATION]: keys.join(",") }),
    },
  };
}

/** The exported labels and annotations that the import shows now. */
export function readMarks(metadata: ObjectMeta): Marks {
  return {
    labels: pick(metadata.labels, recordedKeys(metadata, LABEL_PREFIX)),
    annotations: pick(metadata.annotations, recordedKeys(metadata, ANNOTATION_PREFIX)),
  };
}

/** The same metadata without what we put there before and no longer want; undefined when there is nothing to take away. */
export function dropStaleMarks(observed: ObjectMeta, wanted: Marks): ObjectMeta | undefined {
  const labels = recordedKeys(observed, LABEL_PREFIX).filter(
    (key) => observed.labels?.[key] !== undefined && wanted.labels[key] === undefined,
  );
  const annotations = [...OUR_ANNOTATIONS, ...recordedKeys(observed, ANNOTATION_PREFIX)].filter(
    (key) => observed.annotations?.[key] !== undefined && wanted.annotations[key] === undefined,
  );
  if (labels.length + annotations.length === 0) return undefined;
  return {
    ...observed,
    labels: omit(observed.labels, labels),
    annotations: omit(observed.annotations, annotations),
  };
}

function recordedKeys(metadata: ObjectMeta, prefix: string): string[] {
  return (metadata.annotations?.[EXPORTED_KEYS_ANNOTATION] ?? "")
    .split(",")
    .filter((entry) => entry.startsWith(prefix))
    .map((entry) => entry.slice(prefix.length));
}

function omit(entries: Entries | undefined, keys: readonly string[]): Entries {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !keys.includes(key)));
}

function pick(entries: Entries | undefined, keys: readonly string[]): Entries {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => keys.includes(key)));
}
