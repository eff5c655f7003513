// Port: where the shell says how a run went and what it wrote, for a tool that shows traces. Whoever is given no tracer traces
// nothing, and it costs nothing. Names and sentences, never an object's contents, never a secret.

import type { ClusterId } from "../api/names.ts";

/** Numbers are whole. */
export type Attributes = Readonly<Record<string, string | number>>;

/** By which others can point to a span. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
}

export interface Span {
  readonly context: SpanContext;
  /** Something came of it. */
  note(attributes: Attributes): void;
  /** What it follows from, in another trace. */
  link(to: SpanContext): void;
  /** A request to a server; it begins now. */
  child(name: string, attributes: Attributes): Span;
  fail(sentence: string): void;
  /**
   * To be called once. A run is told when something was noted, or failed, or it has children: most runs find nothing to do,
   * and would bury the others.
   */
  end(attributes?: Attributes): void;
}

export interface Tracer {
  /** A run for that cluster; it begins now. */
  start(name: string, cluster: ClusterId, attributes: Attributes): Span;
}
