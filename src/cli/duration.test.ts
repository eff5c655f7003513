import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";

test.each([
  ["90s", 90_000, "1 min 30 s"],
  ["1h", 3_600_000, "1 h"],
  ["1h30m", 5_400_000, "1 h 30 min"],
  ["720h", 2_592_000_000, "30 d"],
  ["30d", 2_592_000_000, "30 d"],
])("%s is a duration, and is told as people would", (text, ms, told) => {
  expect(parseDuration(text, "--ttl")).toBe(ms);
  expect(formatDuration(ms)).toBe(told);
});

test.each(["", "1", "h", "1 h", "-1h", "0s", "1.5h", "1w", "9999999999h"])(
  "%j is none, and the sentence names the flag",
  (text) => {
    expect(() => parseDuration(text, "--ttl")).toThrow(/--ttl/);
  },
);

test("less than a second is told as none", () => {
  expect(formatDuration(400)).toBe("0 s");
});
