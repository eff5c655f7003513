// Test double: a collector of traces on loopback: what OTLP/HTTP posts to it in, spans out. Whatever is not as OTLP's JSON has it is
// a fault.

import type { ServerResponse } from "node:http";
import { serve } from "./loopback.ts";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number; readonly message?: string };
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
}

/** "silent": takes the request and never answers. */
type Mood = number | "silent";

export interface TestCollector {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** How often it was asked, whatever it answered. */
  readonly requests: () => number;
  /** What it got that it should not have got. */
  readonly faults: string[];
  /** All that was posted to it, as it came. */
  readonly texts: string[];
  mood: Mood;
}

export async function openCollector(): Promise<TestCollector> {
  const { url, requests } = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const type = request.headers["content-type"];
      if (
        request.method !== "POST" ||
        request.url !== "/v1/traces" ||
        type !== "application/json"
      ) {
        collector.faults.push(`${request.method} ${request.url} ${type}`);
      }
      if (request.headers.authorization !== undefined) collector.faults.push("authorization");
      take(Buffer.concat(chunks).toString("utf8"), response);
    });
  });
  const collector: TestCollector = {
    url,
    spans: [],
    requests: () => requests.length,
    faults: [],
    texts: [],
    mood: 200,
  };

  function take(text: string, response: ServerResponse): void {
    collector.texts.push(text);
    if (collector.mood === "silent") return;
    response.writeHead(collector.mood, { "content-type": "application/json" }).end("{}");
    if (collector.mood !== 200) return;
    try {
      collector.spans.push(...decode(text));
    } catch (error) {
      collector.faults.push(String(error));
    }
  }
  return collector;
}

type Json = Readonly<Record<string, unknown>>;

function decode(text: string): readonly ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(text) as { readonly resourceSpans: readonly Json[] };
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const of = decodeAttributes((resource as Json)["attributes"]);
    return (scopeSpans as readonly Json[]).flatMap(({ spans }) =>
      (spans as readonly Json[]).map((span) => decodeSpan(span, of)),
    );
  });
}

const SPAN_KEYS = new Set([
  "traceId",
  "spanId",
  "parentSpanId",
  "name",
  "kind",
  "startTimeUnixNano",
  "endTimeUnixNano",
  "attributes",
  "links",
  "status",
]);

function decodeSpan(span: Json, resource: Readonly<Record<string, string>>): ReceivedSpan {
  const text = JSON.stringify(span);
  const require = (isSo: boolean, what: string): void => {
    if (!isSo) throw new Error(`${what}: ${text}`);
  };
  const { traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano } = span;
  require(Object.keys(span).every((key) => SPAN_KEYS.has(key)), "a field that OTLP has not");
  require(isId(traceId, 32) && isId(spanId, 16), "an id that is none");
  require(parentSpanId === undefined || isId(parentSpanId, 16), "a parent's id that is none");
  require(typeof name === "string" && name !== "", "no name");
  require(kind === 1 || kind === 3, "a kind that we have not");
  require(isNanos(startTimeUnixNano) && isNanos(endTimeUnixNano), "a time that is none");
  require(BigInt(String(endTimeUnixNano)) >=
    BigInt(String(startTimeUnixNano)), "an end before the start");
  const status = span["status"] as ReceivedSpan["status"];
  require([0, 1, 2].includes(status.code), "a status that is none");
  const links = (span["links"] ?? []) as ReceivedSpan["links"];
  require(links.every(
    (link) => isId(link.traceId, 32) && isId(link.spanId, 16),
  ), "a link that is none");
  return {
    ...(span as unknown as ReceivedSpan),
    status,
    links,
    attributes: decodeAttributes(span["attributes"]),
    resource,
  };
}

function isId(value: unknown, digits: number): boolean {
  return typeof value === "string" && /^[0-9a-f]+$/.test(value) && value.length === digits;
}

/** Between 2020 and 2100, in quotes. */
function isNanos(value: unknown): boolean {
  return typeof value === "string" && /^(1[5-9]|[23]\d|40)\d{17}$/.test(value);
}

function decodeAttributes(list: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (list as readonly { key: string; value: Json }[]).map(({ key, value }) => {
      const [kind, ...more] = Object.keys(value);
      const text = value[kind ?? ""];
      const isWhole = typeof text === "string" && /^-?\d+$/.test(text);
      const isRight = kind === "stringValue" || (kind === "intValue" && isWhole);
      if (!isRight || more.length > 0 || typeof text !== "string") {
        throw new Error(`an attribute that OTLP has not: ${key} ${JSON.stringify(value)}`);
      }
      return [key, text];
    }),
  );
}
