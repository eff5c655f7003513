import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { createLimiter, type Limiter, networkOf } from "./limit.ts";

function aLimiter(perSecond: number) {
  const clock = new VirtualClock();
  return { clock, limiter: createLimiter({ perSecond, clock, seed: 1 }) };
}

function judge(limiter: Limiter, address: string, times: number): readonly string[] {
  return Array.from({ length: times }, () => limiter.judge(address));
}

describe("a network", () => {
  test("gets as many answers in a second as it may, then every second query is told to use TCP", () => {
    const { limiter } = aLimiter(3);
    expect(judge(limiter, "192.0.2.1", 7)).toEqual(
      "answer answer answer slip drop slip drop".split(" "),
    );
  });

  test("is answered again as time goes by, and saves up no more than a second's worth", async () => {
    const { limiter, clock } = aLimiter(2);
    judge(limiter, "192.0.2.1", 5);
    await clock.advance(500);
    expect(limiter.judge("192.0.2.1")).toBe("answer");
    expect(limiter.judge("192.0.2.1")).not.toBe("answer");
    await clock.advance(3_600_000);
    const verdicts = judge(limiter, "192.0.2.1", 4);
    expect(verdicts.filter((verdict) => verdict === "answer")).toHaveLength(2);
  });

  test("is a /24 of IPv4 and a /56 of IPv6, and does not count for another", () => {
    const { limiter } = aLimiter(1);
    expect(limiter.judge("192.0.2.1")).toBe("answer");
    expect(limiter.judge("192.0.2.254")).toBe("slip");
    expect(limiter.judge("192.0.3.1")).toBe("answer");
    expect(limiter.judge("2001:db8:0:ab00::1")).toBe("answer");
    expect(limiter.judge("2001:db8:0:abff:1:2:3:4")).toBe("slip");
    expect(limiter.judge("2001:db8:0:ac00::1")).toBe("answer");
  });
});

test.each([
  ["10.1.2.3", "10.1.2.200", true],
  ["10.1.2.3", "10.1.3.3", false],
  ["10.1.2.3", "::ffff:10.1.2.9", true],
  ["::1", "::2", true],
  ["::1", "0.0.0.1", false],
  ["fe80::1%eth0", "fe80::2%eth1", true],
  ["2001:db8::", "2001:db8:0:1::", true],
  ["2001:db8::", "2001:db8:0:100::", false],
  ["2001:db8:1::", "2001:db8:2::", false],
  ["2001:db9::1", "2001:db8::1", false],
])("%s and %s are of one network: %s", (left, right, isSame) => {
  expect(networkOf(left) === networkOf(right)).toBe(isSame);
});

test("a flood of forged networks does not open the way for the one that is over its limit", () => {
  const { limiter } = aLimiter(1);
  judge(limiter, "192.0.2.1", 2);
  let answered = 0;
  for (let forged = 0; forged < 20_000; forged++) {
    limiter.judge(`11.${forged >> 8}.${forged & 255}.1`);
    if (limiter.judge("192.0.2.1") === "answer") answered++;
  }
  expect(answered).toBe(0);
});
