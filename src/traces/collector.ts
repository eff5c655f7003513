// Traces: a batch in, one POST to a collector, what it said to it out. Never retries, follows no redirect, sends no credentials.

import { Agent } from "undici";
import { VERSION } from "../api/version.ts";
import type { Attributes } from "../ports/trace.ts";
import type { Answer, Send } from "./exporter.ts";
import { encodeSpans } from "./otlp.ts";

export interface Collector {
  readonly send: Send;
  /** Cuts what is under way. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** By the protocol: what else is an error will be one again. */
const LATER: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** `process` says who sends. */
export function createCollector(url: URL, process: Attributes): Collector {
  const agent = new Agent({
    connections: 1,
    // The caller bounds each request.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    async send(spans, signal) {
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: url.pathname,
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": `isthmus/${VERSION}` },
        body: encodeSpans(spans, process),
        signal,
      });
      return judge(statusCode, headers["retry-after"], await readText(body));
    },
    close: () => agent.destroy(),
  };
}

/** No more than has to be read: an answer that goes on is cut, and with it the connection. */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function judge(status: number, retryAfter: unknown, text: string): Answer {
  if (LATER.has(status)) {
    const seconds = Number(retryAfter ?? 0);
    return {
      is: "later",
      why: `it answered ${status}`,
      afterMs: seconds > 0 ? seconds * 1_000 : 0,
    };
  }
  if (status < 200 || status > 299) return { is: "refused", why: `it answered ${status}` };
  const { rejectedSpans, errorMessage } = readPartialSuccess(text);
  const rejected = Number(rejectedSpans ?? 0);
  if (!(rejected > 0)) return { is: "taken", rejected: 0 };
  const why = typeof errorMessage === "string" ? `it refused some: ${errorMessage}` : undefined;
  return { is: "taken", rejected, ...(why === undefined ? {} : { why }) };
}

interface PartialSuccess {
  readonly rejectedSpans?: unknown;
  readonly errorMessage?: unknown;
}

/** Collectors answer with an empty object, or with nothing. */
function readPartialSuccess(text: string): PartialSuccess {
  try {
    const answer = JSON.parse(text) as { readonly partialSuccess?: PartialSuccess | null } | null;
    return answer?.partialSuccess ?? {};
  } catch {
    return {};
  }
}
