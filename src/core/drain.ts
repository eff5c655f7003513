// Drain: a cluster's properties in, whether it asks the others to lead their traffic elsewhere out, and why; and the property
// that says so.

import { CLUSTER_PROPERTY, type ClusterProperty } from "../api/about.ts";
import { DRAIN_REASON_MAX_LENGTH } from "../api/isthmus.ts";
import { DRAIN_PROPERTY } from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";

const NO_REASON = "no reason given";

/** The reason, on one line and no longer than the hub takes it; undefined: it is not drained. */
export function readDrain(properties: readonly ClusterProperty[]): string | undefined {
  const property = properties.find(({ metadata }) => metadata.name === DRAIN_PROPERTY);
  if (property === undefined) return undefined;
  // Who takes it back has taken it back, whatever somebody's finalizer waits for.
  if (property.metadata.deletionTimestamp !== undefined) return undefined;
  const words = (property.spec?.value ?? "").replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return cut(words === "" ? NO_REASON : words);
}

/** By characters, not by halves of them. */
function cut(text: string): string {
  const characters = Array.from(text);
  return characters.length <= DRAIN_REASON_MAX_LENGTH
    ? text
    : characters.slice(0, DRAIN_REASON_MAX_LENGTH).join("");
}

export function renderDrain(reason: string): ClusterProperty {
  return {
    apiVersion: apiVersionOf(CLUSTER_PROPERTY),
    kind: CLUSTER_PROPERTY.kind,
    metadata: { name: DRAIN_PROPERTY },
    spec: { value: reason },
  };
}
