// Port: time and chance, passed in so that the same code runs on real and on simulated time.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock in milliseconds since 1970: for timestamps that people read, never for durations. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start: for durations, never for timestamps. */
  monotonic(): number;
  /** Calls back once, after at least that long. */
  schedule(delayMs: number, callback: () => void): Timer;
}

/** Uniform in [0, 1). */
export type Random = () => number;

/** A wall-clock time as Kubernetes writes it, in whole seconds: "2026-01-02T03:04:05Z". */
export function formatTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

/** The same to the millisecond: "2026-01-02T03:04:05.678Z". */
export function formatMilliTime(nowMs: number): string {
  return new Date(nowMs).toISOString();
}

/** The same as a MicroTime, which Leases have: "2026-01-02T03:04:05.678000Z". */
export function formatMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`;
}

/** Wall-clock milliseconds of a time as Kubernetes writes it; undefined when it is none. */
export function parseTime(text: string | undefined): number | undefined {
  const parsed = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** Resolves after `delayMs`, or rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.schedule(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
