// Printing: a span of time in, the short text of `kubectl get` out ("4m53s"). Never reads a clock.

const SECOND = 1000;

/** Age of a timestamp, as API servers print it. */
export function renderAge(timestamp: string | undefined, nowMs: number): string {
  if (timestamp === undefined || timestamp === "") return "<unknown>";
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? "<invalid>" : renderDuration(nowMs - then);
}

/** Two units while the smaller one still matters, then one. */
export function renderDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / SECOND);
  // Clocks of writers differ a little: one second ahead is now, more is an error worth showing.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return joinUnits(`${minutes}m`, seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return joinUnits(`${hours}h`, minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return joinUnits(`${days}d`, hours % 24, "h");
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (hours < 24 * 365 * 8) return joinUnits(`${years}y`, days % 365, "d");
  return `${years}y`;
}

function joinUnits(large: string, small: number, unit: string): string {
  return small === 0 ? large : `${large}${small}${unit}`;
}
