// Page: seconds, counts and lists in, short words out.

import type { Told } from "./model.ts";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** "4 s", "12 min", "3 h", "9 d". */
export function formatAge(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 2 * HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.floor(seconds / DAY)} d`;
}

/** An age that was true when it was told, now. */
export function ageNow<T>(told: Told<T>, seconds: number, nowMs: number): number {
  return seconds + Math.max(0, nowMs - told.toldAtMs) / 1000;
}

/** "40 ms", "1.3 s". */
export function formatMs(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
}

export function formatCount(number: number): string {
  return number.toLocaleString("en");
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(number)} ${number === 1 ? noun : plural}`;
}

/** "a", "a and b", "a, b and 4 more". */
export function list(words: readonly string[], most = 3): string {
  const shown = words.length <= most ? words : words.slice(0, most - 1);
  const rest = words.length - shown.length;
  const all = rest > 0 ? [...shown, `${rest} more`] : shown;
  const last = all.at(-1) ?? "";
  return all.length < 2 ? last : `${all.slice(0, -1).join(", ")} and ${last}`;
}
