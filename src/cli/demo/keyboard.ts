// Demo: a terminal in, "Enter was pressed" out.

import type { Readable } from "node:stream";

/** Resolves with the next line, and at once when there are no more. Rejects when the demo is to end. */
export function untilEnter(input: Readable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      input.off("data", onData);
      input.off("end", onEnd);
      signal.removeEventListener("abort", onAbort);
      // Else the process would wait for keys when it is over.
      input.pause();
    };
    const onData = (): void => {
      finish();
      resolve();
    };
    const onEnd = onData;
    const onAbort = (): void => {
      finish();
      reject(signal.reason);
    };
    if (signal.aborted || input.readableEnded) {
      if (signal.aborted) reject(signal.reason);
      else resolve();
      return;
    }
    // A terminal hands over whole lines unless told otherwise.
    input.on("data", onData);
    input.on("end", onEnd);
    signal.addEventListener("abort", onAbort, { once: true });
    input.resume();
  });
}
