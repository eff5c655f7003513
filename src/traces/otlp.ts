// Traces: finished spans in, the JSON that OTLP/HTTP carries out. Pure. Ids are hexadecimal, times are nanoseconds in quotes,
// enumerations are numbers: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding

import type { ClusterId } from "../api/names.ts";
import type { Attributes } from "../ports/trace.ts";
import type { FinishedSpan } from "./tracer.ts";

const KIND_INTERNAL = 1;
const KIND_CLIENT = 3;
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;

/** One resource for each cluster that the process works for: central works for many. */
export function encodeSpans(spans: readonly FinishedSpan[], process: Attributes): string {
  const byCluster = new Map<ClusterId, FinishedSpan[]>();
  for (const span of spans) {
    const of = byCluster.get(span.cluster) ?? [];
    of.push(span);
    byCluster.set(span.cluster, of);
  }
  return JSON.stringify({
    resourceSpans: [...byCluster].map(([cluster, of]) => ({
      resource: { attributes: encodeAttributes({ ...process, "isthmus.cluster": cluster }) },
      scopeSpans: [{ scope: { name: "isthmus" }, spans: of.map(encodeSpan) }],
    })),
  });
}

function encodeSpan(span: FinishedSpan) {
  const { context, parentId, error } = span;
  return {
    ...context,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    name: span.name,
    kind: parentId === undefined ? KIND_INTERNAL : KIND_CLIENT,
    startTimeUnixNano: encodeTime(span.startMs),
    endTimeUnixNano: encodeTime(span.endMs),
    attributes: encodeAttributes(span.attributes),
    ...(span.links.length > 0 && { links: span.links }),
    status: error === undefined ? { code: STATUS_UNSET } : { code: STATUS_ERROR, message: error },
  };
}

function encodeAttributes(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }));
}

function encodeValue(value: string | number) {
  return typeof value === "string" ? { stringValue: value } : { intValue: `${Math.round(value)}` };
}

/** To the microsecond: a number has no place for more. */
function encodeTime(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}
