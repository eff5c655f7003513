// Clusterset: times as Kubernetes writes them in, milliseconds since 1970 and ages as kubectl writes them out. The clock that
// wrote a time is some cluster's: what is computed from two of them is as good as these clocks agree.

const TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?Z$/;
const DAY_MS = 86_400_000;

/** Undefined for what is no such time. */
export function parseTimeMs(text: string | undefined): number | undefined {
  const [, ...parts] = TIME.exec(text ?? "") ?? [];
  if (parts.length === 0) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = parts.map(Number);
  const fraction = Number(`0.${parts[6] ?? "0"}`);
  const time = ((hours * 60 + minutes) * 60 + seconds) * 1_000 + Math.floor(fraction * 1_000);
  return daysSince1970({ year, month, day }) * DAY_MS + time;
}

/** Years begin in March here, so that the leap day comes last and needs no table. */
function daysSince1970(date: {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}): number {
  const year = date.month <= 2 ? date.year - 1 : date.year;
  const month = (date.month + 9) % 12;
  const leaps = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  const dayOfYear = Math.floor((153 * month + 2) / 5) + date.day - 1;
  return year * 365 + leaps + dayOfYear - 719_468;
}

/** "12s", "5m", "3h", "4d": one unit, as in kubectl's AGE; two while that is still short. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return joinUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return joinUnits(hours, "h", minutes % 60, "m");
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function joinUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
