// Page: the browser's own time, as the rest of the page takes it.

import type { Clock } from "../../ports/clock.ts";

export const browserClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
