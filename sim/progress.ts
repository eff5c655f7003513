// Progress: totals so far in, a bar on a terminal out, or now and then a line where there is none.

import { renderPace, type Totals } from "./report.ts";

export interface Progress {
  show(totals: Totals): void;
  /** Makes room for other text. */
  clear(): void;
}

const BAR_WIDTH = 30;
const LINES = 20;

export function createProgress(
  out: { readonly isTTY?: boolean; write(text: string): unknown },
  worlds: number,
): Progress {
  const every = Math.max(1, Math.floor(worlds / LINES));
  const began = performance.now();
  let shownAt = -Infinity;
  return {
    show(totals) {
      const { worlds: done } = totals;
      const seconds = (performance.now() - began) / 1_000;
      const pace = `${done} of ${worlds}: ${renderPace(totals, seconds)}`;
      if (out.isTTY !== true) {
        if (done % every === 0) out.write(`${pace}\n`);
        return;
      }
      if (performance.now() - shownAt < 100 && done < worlds) return;
      shownAt = performance.now();
      const full = Math.round((BAR_WIDTH * done) / worlds);
      out.write(`\r\u001b[K[${"#".repeat(full)}${".".repeat(BAR_WIDTH - full)}] ${pace}`);
    },
    clear() {
      if (out.isTTY === true) out.write("\r\u001b[K");
    },
  };
}
