// Built-in behaviour: Events under events.k8s.io/v1 are the core ones with other field names. Pure.

import type { KubeObject } from "../../api/object.ts";
import type { Conversion } from "../kind.ts";
import { jsonOf } from "../metadata.ts";
import type { Json } from "../types.ts";

const NAMES: readonly (readonly [string, string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

const TO_NEW = new Map(NAMES);
const TO_CORE = new Map(NAMES.map(([core, renamed]) => [renamed, core]));

function rename(
  object: KubeObject,
  names: ReadonlyMap<string, string>,
  apiVersion: string,
): KubeObject {
  const renamed: Record<string, Json> = {};
  for (const [key, value] of Object.entries(jsonOf(object))) renamed[names.get(key) ?? key] = value;
  return { ...renamed, apiVersion } as unknown as KubeObject;
}

export const EVENT_CONVERSION: Conversion = {
  fromStored: (object) => rename(object, TO_NEW, "events.k8s.io/v1"),
  toStored: (object) => rename(object, TO_CORE, "v1"),
};
