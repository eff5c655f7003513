// Traces: finished spans in, batches to a collector out. Nobody waits for it, and it never fails anybody: what a collector that is
// away cannot be told is kept within a bound, the newest, and then counted as dropped. One request at a time.
//
//            512 spans, or 5 s after the first            taken, or refused for good
//   gathering ───────────────────────────────▶ sending ───────────────────────────────▶ gathering
//                                               ▲   │ no answer, or "later"
//                                               └───┘ after a pause that grows

import { type Clock, type Random, sleep, type Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { runBounded } from "../runtime/bounded.ts";
import { createFifo } from "../runtime/fifo.ts";
import type { FinishedSpan } from "./tracer.ts";

/** What a collector said to a batch. */
export type Answer =
  /** `rejected` is how many of the spans it did not take. */
  | { readonly is: "taken"; readonly rejected: number; readonly why?: string }
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "later"; readonly why: string; readonly afterMs: number };

/** Rejects when nobody answers. */
export type Send = (spans: readonly FinishedSpan[], signal: AbortSignal) => Promise<Answer>;

export interface SpanCounts {
  readonly sent: number;
  /** There was no room for them. */
  readonly dropped: number;
  /** The collector did not take them. */
  readonly refused: number;
}

export interface Exporter {
  readonly add: (span: FinishedSpan) => void;
  readonly counts: () => SpanCounts;
  /** What is left is sent, within a bound. */
  stop(): Promise<void>;
}

const BATCH = 512;
const MAX_WAITING = 4_096;
const GATHER_MS = 5_000;
const SEND_BOUND_MS = 10_000;
const STOP_BOUND_MS = 3_000;
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
const WHY_MAX = 256;

export function createExporter(options: {
  readonly send: Send;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}): Exporter {
  const { clock, random, log } = options;
  const waiting = createFifo<FinishedSpan>();
  /** What is being sent; kept while the collector may still take it. */
  let batch: readonly FinishedSpan[] = [];
  /** Requests in a row after which the collector had not taken everything. */
  let failures = 0;
  let notBeforeMs = 0;
  const counts = { sent: 0, dropped: 0, refused: 0 };
  let gathering: Timer | undefined;
  let running: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const ending = new AbortController();
  let cutPause = (): void => undefined;

  function add(span: FinishedSpan): void {
    if (stopped !== undefined) return;
    waiting.push(span);
    if (waiting.size() > MAX_WAITING) {
      waiting.shift();
      counts.dropped += 1;
    }
    review();
  }

  function review(): void {
    if (running !== undefined || stopped !== undefined || left() === 0) return;
    if (left() >= BATCH) begin();
    else gathering ??= clock.schedule(GATHER_MS, begin);
  }

  function begin(): void {
    gathering?.cancel();
    gathering = undefined;
    running = run().finally(() => {
      running = undefined;
      review();
    });
  }

  async function run(): Promise<void> {
    do {
      await sendBatch();
      if (failures > 0 && stopped === undefined) await pause();
    } while (hasMore());
  }

  function hasMore(): boolean {
    if (left() === 0) return false;
    return stopped === undefined ? failures > 0 || left() >= BATCH : failures === 0;
  }

  async function sendBatch(): Promise<void> {
    if (batch.length === 0) batch = take();
    const spans = batch;
    const bound = { clock, boundMs: SEND_BOUND_MS, stop: ending.signal };
    try {
      settle(await runBounded(bound, (signal) => options.send(spans, signal)));
    } catch (error) {
      settle({ is: "later", why: describe(error), afterMs: 0 });
    }
  }

  function take(): readonly FinishedSpan[] {
    const taken: FinishedSpan[] = [];
    for (let span = waiting.shift(); span !== undefined; span = waiting.shift()) {
      taken.push(span);
      if (taken.length === BATCH) break;
    }
    return taken;
  }

  function settle(answer: Answer): void {
    notBeforeMs = 0;
    switch (answer.is) {
      case "taken": {
        const refused = Math.min(answer.rejected, batch.length);
        counts.sent += batch.length - refused;
        counts.refused += refused;
        batch = [];
        if (refused === 0) recover();
        else complain(answer.why ?? "it refused some of them");
        return;
      }
      case "refused":
        counts.refused += batch.length;
        batch = [];
        complain(answer.why);
        return;
      case "later":
        notBeforeMs = clock.monotonic() + Math.min(answer.afterMs, BACKOFF.capMs);
        // They are the oldest; and should it be they that are at fault, the others get their turn.
        if (waiting.size() >= MAX_WAITING) {
          counts.dropped += batch.length;
          batch = [];
        }
        complain(answer.why);
    }
  }

  function complain(why: string): void {
    failures += 1;
    const error = why.slice(0, WHY_MAX);
    if (failures === 1) log.warn("collector does not take traces", { error });
    else log.debug("collector still does not take traces", { error, failures });
  }

  function recover(): void {
    const { dropped, refused } = counts;
    if (failures > 0) log.info("collector takes traces again", { dropped, refused });
    failures = 0;
  }

  async function pause(): Promise<void> {
    const cut = new AbortController();
    cutPause = () => cut.abort();
    const atLeastMs = notBeforeMs - clock.monotonic();
    const pauseMs = Math.max(backoffMs(BACKOFF, failures, random), atLeastMs);
    await sleep(clock, pauseMs, cut.signal).catch(() => undefined);
  }

  function left(): number {
    return batch.length + waiting.size();
  }

  async function flush(): Promise<void> {
    gathering?.cancel();
    cutPause();
    const timer = clock.schedule(STOP_BOUND_MS, () => {
      ending.abort(new Error("it did not answer before the end"));
    });
    await running;
    if (left() > 0 && !ending.signal.aborted) await run();
    timer.cancel();
    if (left() > 0) log.warn("spans are left that nobody took", { spans: left() });
  }

  return {
    add,
    counts: () => ({ ...counts }),
    stop() {
      // In this order: what goes on must see that it is to end.
      stopped ??= Promise.resolve().then(flush);
      return stopped;
    },
  };
}

function describe(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return String(message || code || error);
}
