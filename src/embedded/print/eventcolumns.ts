// Printing: an Event in, the cells of its `kubectl get` table out. Both event APIs hold the same events under
// different field names.

import { age, asText, field, number, pick, text, wide } from "./cell.ts";
import type { Column, Json, JsonObject } from "../types.ts";

export const EVENT_COLUMNS: readonly Column[] = [
  age("Last Seen", readLast),
  text("Type", (event) => pick(event, "type")),
  text("Reason", (event) => pick(event, "reason")),
  text("Object", renderSubject),
  wide("Subobject", (event) => readSubject(event, "fieldPath")),
  wide("Source", renderSource),
  text("Message", (event) =>
    (asText(pick(event, "message")) || asText(pick(event, "note"))).trim(),
  ),
  { ...age("First Seen", readFirst), priority: 1 },
  { ...number("Count", readCount), priority: 1 },
  { ...wide("Name", (event) => pick(event, "metadata", "name")), format: "name" },
];

function readFirst(event: JsonObject): string {
  return (
    asText(pick(event, "firstTimestamp")) ||
    asText(pick(event, "deprecatedFirstTimestamp")) ||
    asText(pick(event, "eventTime"))
  );
}

function readLast(event: JsonObject): string {
  return (
    asText(pick(event, "series", "lastObservedTime")) ||
    asText(pick(event, "lastTimestamp")) ||
    asText(pick(event, "deprecatedLastTimestamp")) ||
    readFirst(event)
  );
}

function readCount(event: JsonObject): number {
  const count: Json =
    pick(event, "series", "count") ?? pick(event, "count") ?? pick(event, "deprecatedCount");
  return typeof count === "number" && count > 0 ? count : 1;
}

function readSubject(event: JsonObject, key: string): string {
  return asText(pick(event, "involvedObject", key)) || asText(pick(event, "regarding", key));
}

function renderSubject(event: JsonObject): string {
  const kind = readSubject(event, "kind").toLowerCase();
  const name = readSubject(event, "name");
  return kind === "" ? name : `${kind}/${name}`;
}

function renderSource(event: JsonObject): string {
  const source = pick(event, "source") ?? pick(event, "deprecatedSource");
  const component =
    asText(field(source, "component")) ||
    asText(pick(event, "reportingComponent")) ||
    asText(pick(event, "reportingController"));
  const instance = asText(field(source, "host")) || asText(pick(event, "reportingInstance"));
  return [component, instance].filter((part) => part !== "").join(", ");
}
