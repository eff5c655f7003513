// CLI: a duration as people write it in, milliseconds out.

import { Problem } from "../api/problem.ts";

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** "90s", "1h30m", "30d". */
export function parseDuration(text: string, flag: string): number {
  const isDuration = /^(\d{1,9}[smhd])+$/.test(text);
  const parts = isDuration ? [...text.matchAll(/(\d+)([smhd])/g)] : [];
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ""] ?? 0),
    0,
  );
  if (ms > 0) return ms;
  const message = `"${text}" is not a time for ${flag}: write it as 90s, 30m, 1h or 30d.`;
  throw new Problem("ArgumentInvalid", message);
}

/** "1 h 30 min". */
export function formatDuration(ms: number): string {
  const parts: string[] = [];
  let rest = Math.round(ms / 1_000);
  for (const [unit, seconds] of [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ] as const) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}
