import { expect, test } from "vitest";
import { formatAge, parseTimeMs } from "./time.ts";

test.each([
  ["1970-01-01T00:00:00Z", 0],
  ["2000-02-29T23:59:59Z", 951_868_799_000],
  ["2026-11-16T08:15:39Z", 1_794_816_939_000],
  ["2026-12-31T23:59:59.678000Z", 1_798_761_599_678],
  ["2100-03-01T00:00:00Z", 4_107_542_400_000],
])("%s is %i ms after 1970", (text, ms) => {
  expect(parseTimeMs(text)).toBe(ms);
});

test("what is no time is none", () => {
  for (const text of [undefined, "", "yesterday", "2026-11-16", "2026-11-16T08:15:39+01:00"]) {
    expect(parseTimeMs(text)).toBeUndefined();
  }
});

test.each([
  [-5_000, "0s"],
  [59_999, "59s"],
  [119_000, "119s"],
  [120_000, "2m"],
  [321_000, "5m21s"],
  [3_600_000, "60m"],
  [4 * 3_600_000, "4h"],
  [4 * 3_600_000 + 60_000, "4h1m"],
  [30 * 3_600_000, "30h"],
  [100 * 3_600_000, "4d"],
])("%i ms are %s, as in kubectl", (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
