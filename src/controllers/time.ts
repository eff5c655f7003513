// Shell: a wall-clock time in, the text that Kubernetes writes it as out. The core never sees a clock.

/** Whole seconds, UTC: "2026-01-02T03:04:05Z". */
export function formatTime(nowMs: number): string {
  // oxlint-disable-next-line no-restricted-globals -- formats a time that the injected clock gave
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}
