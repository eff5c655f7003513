// CLI: the settings of traces in; a tracer, what became of its spans, and how to end it out. Without an endpoint there is no tracer.

import { VERSION } from "../api/version.ts";
import type { Log } from "../ports/log.ts";
import type { Tracer } from "../ports/trace.ts";
import { createCollector } from "../traces/collector.ts";
import { parseEndpoint } from "../traces/endpoint.ts";
import { createExporter, type SpanCounts } from "../traces/exporter.ts";
import { createTracer } from "../traces/tracer.ts";
import type { CliContext } from "./context.ts";

export interface Traces {
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined;
  readonly counts: () => SpanCounts;
  /** What is left is sent, within a bound. */
  stop(): Promise<void>;
}

const NONE: Traces = {
  tracer: undefined,
  counts: () => ({ sent: 0, dropped: 0, refused: 0 }),
  stop: () => Promise.resolve(),
};

export function startTraces(
  { clock, random }: Pick<CliContext, "clock" | "random">,
  endpoint: string | undefined,
  about: { readonly mode: "agent" | "central"; readonly instance: string; readonly log: Log },
): Traces {
  if (endpoint === undefined) return NONE;
  const { mode, instance, log } = about;
  const url = parseEndpoint(endpoint);
  const collector = createCollector(url, {
    "service.name": "isthmus",
    "service.version": VERSION,
    "service.instance.id": instance,
    "isthmus.mode": mode,
  });
  const exporter = createExporter({ send: collector.send, clock, random, log });
  log.info("traces are sent", { collector: url.href });
  return {
    tracer: createTracer({ clock, random, onEnd: exporter.add }),
    counts: exporter.counts,
    async stop() {
      await exporter.stop();
      await collector.close();
    },
  };
}
