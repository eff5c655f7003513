// Import: a value that nobody has checked in, what kind of thing it is out. Never throws.

import { LABEL_MAX_LENGTH, LABEL_PATTERN } from "../api/names.ts";

const SHOWN_LENGTH = 63;
/** What JSON leaves as it is and a terminal does not: controls, and marks that turn the direction of a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export type UntrustedRecord = Readonly<Record<string, unknown>>;

const LABEL = new RegExp(LABEL_PATTERN);
const TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?(?:Z|\+00:00)$/;
/** Of every month, February in a leap year. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function isRecord(value: unknown): value is UntrustedRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isOneOf<T extends string>(words: readonly T[], value: unknown): value is T {
  return (words as readonly unknown[]).includes(value);
}

export function isDnsLabel(text: string): boolean {
  return text.length <= LABEL_MAX_LENGTH && LABEL.test(text);
}

/** Null is how some programs write that they say nothing; so is "" where a name belongs. */
export function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** Whole seconds in UTC: precedence compares the text. Undefined for anything that is no such time. */
export function readTime(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const [, year, month, day] = TIME.exec(value) ?? [];
  if (year === undefined || Number(day) > (MONTH_DAYS[Number(month) - 1] ?? 0)) return undefined;
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  if (month === "02" && day === "29" && !isLeap) return undefined;
  return `${value.slice(0, "2026-01-02T03:04:05".length)}Z`;
}

export function isWholeNumber(value: unknown, max: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;
}

/** Text of others in a sentence of ours: short, on one line, and seen to be theirs. */
export function quote(value: unknown): string {
  if (typeof value !== "string") return describeKind(value);
  const shown = value.length > SHOWN_LENGTH ? `${value.slice(0, SHOWN_LENGTH)}…` : value;
  return JSON.stringify(shown).replaceAll(
    UNSEEN,
    (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16)}}`,
  );
}

function describeKind(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? "a list" : "an object";
}
