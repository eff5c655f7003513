// Traces: the Tracer port; what was told of a run in, finished spans out. Every text is bounded, and what looks like a secret in a
// sentence is left out.

import type { ClusterId } from "../api/names.ts";
import { redactText } from "../core/check/redact.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Attributes, Span, SpanContext, Tracer } from "../ports/trace.ts";

export interface FinishedSpan {
  readonly context: SpanContext;
  /** Absent of a run. */
  readonly parentId?: string;
  readonly cluster: ClusterId;
  readonly name: string;
  /** Wall-clock milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly links: readonly SpanContext[];
  /** Why it failed; absent when it did not. */
  readonly error?: string;
}

/** Longer than any name that Kubernetes has; sentences are cut. */
const TEXT_MAX = 512;
const MAX_LINKS = 8;

export function createTracer(options: {
  readonly clock: Clock;
  readonly random: Random;
  readonly onEnd: (span: FinishedSpan) => void;
}): Tracer {
  const { clock, random, onEnd } = options;

  interface Place {
    readonly traceId: string;
    readonly parentId?: string;
    readonly cluster: ClusterId;
    /** The wall clock when the run began: all of a trace is timed from there, by the monotonic one. */
    readonly wallMs: number;
    readonly monotonicMs: number;
  }

  function begin(name: string, place: Place, given: Attributes): Span {
    const { traceId, parentId, cluster } = place;
    const context = { traceId, spanId: drawId(random, 2) };
    const startMs = elapse(place);
    const links: SpanContext[] = [];
    let attributes = given;
    let error: string | undefined;
    // Every request is worth telling.
    let isNews = parentId !== undefined;
    return {
      context,
      note(more) {
        attributes = { ...attributes, ...more };
        isNews = true;
      },
      link(to) {
        if (links.length < MAX_LINKS) links.push(to);
        isNews = true;
      },
      child(childName, childAttributes) {
        isNews = true;
        return begin(childName, { ...place, parentId: context.spanId }, childAttributes);
      },
      fail(sentence) {
        error = cut(redactText(sentence.slice(0, 4 * TEXT_MAX)));
        isNews = true;
      },
      end(more) {
        if (!isNews) return;
        onEnd({
          context,
          ...(parentId === undefined ? {} : { parentId }),
          cluster,
          name,
          startMs,
          endMs: elapse(place),
          attributes: cutAll({ ...attributes, ...more }),
          links,
          ...(error === undefined ? {} : { error }),
        });
      },
    };
  }

  function elapse({ wallMs, monotonicMs }: Place): number {
    return wallMs + (clock.monotonic() - monotonicMs);
  }

  return {
    start: (name, cluster, attributes) => {
      const [wallMs, monotonicMs] = [clock.now(), clock.monotonic()];
      return begin(name, { traceId: drawId(random, 4), cluster, wallMs, monotonicMs }, attributes);
    },
  };
}

/** Eight hexadecimal digits for each word. All zeros would mean: none. */
function drawId(random: Random, words: number): string {
  const draw = (): number => Math.floor(random() * 2 ** 32) || 1;
  return Array.from({ length: words }, () => draw().toString(16).padStart(8, "0")).join("");
}

function cutAll(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      typeof value === "string" ? cut(value) : value,
    ]),
  );
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX - 1)}…` : text;
}
