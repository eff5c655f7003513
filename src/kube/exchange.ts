// Client: one request on a dispatcher → status and headers when they come, then the body, piece by piece, to whoever takes it. Undici's
// handler itself, without a stream around each answer: pieces are taken as they come, so nobody ever has to be held back.
//
// Whether we may write is asked at the moment undici puts the request on a socket. Until then it can wait in this process for
// credentials, for a connection or through a suspension of the whole process, and what was true when it was made no longer is. What
// is left: a request that a suspension catches between this question and the kernel, or whose body is too large for one write
// (some hundred kilobytes), is completed after it. Preconditions (resourceVersion, uid, create) are the answer to that.

import type { Dispatcher } from "undici";
import type { Clock } from "../ports/clock.ts";
import { StoreError } from "../ports/store.ts";
import type { Headers } from "./status.ts";
import { createWatchdog } from "./watchdog.ts";

export interface Head {
  readonly status: number;
  readonly headers: Headers;
}

/** What either throws is what the exchange rejects with, and ends the connection. */
export interface Receiver<T> {
  take(chunk: Buffer): void;
  /** The body came to its end. */
  end(): T | Promise<T>;
}

export interface ExchangeOptions<T> {
  readonly request: Dispatcher.DispatchOptions;
  /** "GET /api/v1/pods": for errors. */
  readonly attempted: string;
  /** Called with the headers, before the first piece of the body. */
  readonly open: (head: Head) => Receiver<T>;
  readonly clock: Clock;
  /** How long the server may say nothing, before and while it answers. */
  readonly silenceMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Absent: always. Asked for reads, too. */
  readonly mayWrite?: (() => boolean) | undefined;
  /** What undici rejects with → what the caller is to see. */
  readonly toError: (error: unknown) => unknown;
}

export interface Answer<T> {
  readonly status: number;
  /** What the receiver makes of it. */
  readonly end: () => T | Promise<T>;
}

/** One for all: undici wants an error, and nobody gets to see it. */
const GIVEN_UP = new Error("the request was given up");

/** Resolves at the end of the body. Rejects with the signal's reason when it aborts. */
export function exchange<T>(
  dispatcher: Dispatcher,
  options: ExchangeOptions<T>,
): Promise<Answer<T>> {
  const { request, attempted, signal, silenceMs } = options;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let receiver: Receiver<T> | undefined;
    let isOver = false;
    const watchdog = createWatchdog(options.clock, silenceMs, () => {
      const server = String(request.origin ?? "the server");
      const message = `${server} sent nothing for ${silenceMs / 1_000} s (${attempted})`;
      fail(new StoreError("Timeout", message));
    });
    signal?.addEventListener("abort", onAbort, { once: true });

    function onAbort(): void {
      fail(signal?.reason);
    }
    function finish(): void {
      isOver = true;
      watchdog.stop();
      signal?.removeEventListener("abort", onAbort);
    }
    /** The first failure counts: what undici makes of it comes after. */
    function fail(error: unknown): void {
      if (isOver) return;
      finish();
      reject(error);
      controller?.abort(GIVEN_UP);
    }
    function attempt(work: () => void): void {
      if (isOver) return;
      watchdog.feed();
      try {
        work();
      } catch (error) {
        fail(error);
      }
    }

    dispatcher.dispatch(request, {
      onRequestStart(started) {
        // Thrown, not aborted: an abort would take the connection along. Undici calls this right before it writes.
        if (isOver) throw GIVEN_UP;
        if (options.mayWrite?.() === false) throw notLeading(attempted);
        controller = started;
      },
      onResponseStart(_, code, headers) {
        // Whatever is below announces another answer.
        if (code < 200) return;
        status = code;
        attempt(() => {
          receiver = options.open({ status, headers });
        });
      },
      onResponseData(_, chunk) {
        attempt(() => receiver?.take(chunk));
      },
      onResponseEnd() {
        const received = receiver;
        if (isOver || received === undefined) return;
        finish();
        resolve({ status, end: () => received.end() });
      },
      onResponseError(_, error) {
        fail(options.toError(error));
      },
    });
  });
}

function notLeading(attempted: string): StoreError {
  return new StoreError(
    "Unavailable",
    `this process is no longer the leader; nothing was written (${attempted})`,
  );
}
