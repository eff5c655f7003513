// A work queue's handler in, the same handler with a span for each of its runs out. Without a tracer it is the very handler.

import { type ClusterId, type ServiceKey, splitServiceKey } from "../api/names.ts";
import type { Span, Tracer } from "../ports/trace.ts";
import type { Outcome } from "../runtime/queue.ts";
import { describe } from "../runtime/trace.ts";
import type { QueueName } from "./measures.ts";

export type RunHandler = (
  service: ServiceKey,
  signal: AbortSignal,
  span?: Span,
) => Promise<Outcome>;

export function traceRuns(
  tracer: Tracer | undefined,
  { cluster, queue }: { readonly cluster: ClusterId; readonly queue: QueueName },
  handler: RunHandler,
): RunHandler {
  if (tracer === undefined) return handler;
  return async (service, signal) => {
    const span = tracer.start(queue, cluster, {
      "isthmus.queue": queue,
      "isthmus.service": service,
      "k8s.namespace.name": splitServiceKey(service).namespace,
    });
    try {
      const outcome = await handler(service, signal, span);
      span.end({ "isthmus.outcome": outcome === "done" ? "done" : "again" });
      return outcome;
    } catch (error) {
      // Who was told to stop has not been failed by anybody.
      if (!signal.aborted) span.fail(describe(error));
      span.end({ "isthmus.outcome": signal.aborted ? "stopped" : "error" });
      throw error;
    }
  };
}
