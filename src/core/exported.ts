// Import: exported labels and annotations in, those of the ServiceImport out, and which of them have to go again
// (R35, R36). What others put on the import stays.

import { SHARE_LIMITS } from "../api/hubshare.ts";
import {
  DERIVED_SERVICE_ANNOTATION,
  EXPORTED_KEYS_ANNOTATION,
  MANAGED_LABEL,
} from "../api/names.ts";
import type { ObjectMeta } from "../api/object.ts";
import { compareText } from "./order.ts";
import { quote } from "./untrusted.ts";

type Entries = Readonly<Record<string, string>>;
type Marks = Required<Pick<ObjectMeta, "labels" | "annotations">>;

/** Ours alone: an export can neither set nor override them (R36). */
const OUR_ANNOTATIONS = [DERIVED_SERVICE_ANNOTATION, EXPORTED_KEYS_ANNOTATION];
const LABEL_PREFIX = "label:";
const ANNOTATION_PREFIX = "annotation:";

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_MAX_LENGTH = 63;
const PREFIX_MAX_LENGTH = 253;
/** Half of what Kubernetes allows an object: the import has annotations of its own. */
const ANNOTATIONS_MAX_BYTES = 131_072;
const UTF8 = new TextEncoder();

/** What no API server would take: it would stop the import in every cluster, so it is refused where it is written. */
export function findBadMark(exported: Partial<Marks>): string | undefined {
  const { labels = {}, annotations = {} } = exported;
  const crowd = findCrowd("labels", labels) ?? findCrowd("annotations", annotations);
  if (crowd !== undefined) return crowd;
  const key = [...Object.keys(labels), ...Object.keys(annotations)].find(
    (text) => !isQualifiedName(text),
  );
  if (key !== undefined) {
    return `${quote(key)} cannot be the key of a label or annotation: it takes letters, digits, "-", "_" and ".", at most ${NAME_MAX_LENGTH}, after an optional DNS name and "/".`;
  }
  const label = Object.entries(labels).find(([, value]) => !isLabelValue(value));
  if (label !== undefined) {
    return `${quote(label[1])} cannot be the value of the label ${quote(label[0])}: it takes letters, digits, "-", "_" and ".", at most ${NAME_MAX_LENGTH}.`;
  }
  const long = Object.entries(annotations).find(
    ([, value]) => value.length > SHARE_LIMITS.annotationValueLength,
  );
  if (long !== undefined) {
    return `The annotation ${quote(long[0])} has ${long[1].length} characters; at most ${SHARE_LIMITS.annotationValueLength} are allowed.`;
  }
  const { length } = UTF8.encode(Object.entries(annotations).flat().join(""));
  return length > ANNOTATIONS_MAX_BYTES
    ? `The exported annotations have ${length} bytes; at most ${ANNOTATIONS_MAX_BYTES} are allowed.`
    : undefined;
}

/** The hub takes no more, so the export says so wherever it is. */
function findCrowd(what: "labels" | "annotations", entries: Entries): string | undefined {
  const { length } = Object.keys(entries);
  return length > SHARE_LIMITS[what]
    ? `There are ${length} exported ${what}; at most ${SHARE_LIMITS[what]} are allowed.`
    : undefined;
}

export function isLabelValue(text: string): boolean {
  return text === "" || isName(text);
}

function isName(text: string): boolean {
  return text.length <= NAME_MAX_LENGTH && NAME.test(text);
}

/** What labels, annotations and application protocols may be called. */
export function isQualifiedName(text: string): boolean {
  const [name = "", prefix, ...rest] = text.split("/").toReversed();
  if (rest.length > 0 || !isName(name)) return false;
  return prefix === undefined || (prefix.length <= PREFIX_MAX_LENGTH && PREFIX.test(prefix));
}

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
