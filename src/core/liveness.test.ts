import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { id } from "../../test/shares.ts";
import type { ClusterId } from "../api/names.ts";
import { DEFAULT_LIVENESS, isCutOff, judgeLiveness, type Liveness } from "./liveness.ts";

const POLICY = { unreadyAfterMs: 20, withdrawAfterMs: 30 };
type Judged = Readonly<Record<string, Liveness>>;

function judge(silent: Readonly<Record<string, number>>, before: Judged = {}): Judged {
  const members = Object.entries(silent).map(([name, silentMs]) => ({
    cluster: id(name),
    silentMs,
  }));
  const known = new Map(Object.entries(before) as [ClusterId, Liveness][]);
  return Object.fromEntries(judgeLiveness(members, POLICY, known));
}

describe("one member among many that are heard", () => {
  const others = { b: 0, c: 0 };
  test.each([
    [0, "live"],
    [19, "live"],
    [20, "silent"],
    [29, "silent"],
    [30, "lost"],
    [9999, "lost"],
  ] as const)("R65, R66: silent for %i ms is %s", (silentMs, liveness) => {
    expect(judge({ ...others, a: silentMs }).a).toBe(liveness);
  });

  test("R66: heard again is live at once", () => {
    expect(judge({ ...others, a: 0 }, { a: "lost" }).a).toBe("live");
  });
});

describe("when most members are silent at once, it is we who are cut off", () => {
  test("nobody is newly lost", () => {
    expect(judge({ a: 0, b: 99, c: 99 })).toEqual({ a: "live", b: "live", c: "live" });
  });

  test("who was lost before stays lost", () => {
    expect(judge({ a: 0, b: 99, c: 99, d: 99 }, { b: "lost" })).toEqual({
      a: "live",
      b: "lost",
      c: "live",
      d: "live",
    });
  });

  test("who is heard is live", () => {
    expect(judge({ a: 0, b: 99, c: 99 }, { a: "lost" }).a).toBe("live");
  });

  test("a cluster that has only itself never loses itself", () => {
    expect(judge({ a: 99 }).a).toBe("live");
  });

  test("R65: who was lost before does not hide who is lost now", () => {
    expect(judge({ a: 0, b: 99, c: 99 }, { b: "lost" }).c).toBe("lost");
    expect(judge({ a: 99, b: 99, c: 99 }, { b: "lost" })).toMatchObject({ a: "live", c: "live" });
  });

  test("half of the members is not most of them", () => {
    expect(judge({ a: 0, b: 99 }).b).toBe("lost");
  });
});

describe("after we were cut off ourselves", () => {
  const hear = (silentMs: number, hearingMs: number, before: Liveness = "live") =>
    judgeLiveness(
      [
        { cluster: id("a"), silentMs: 0 },
        { cluster: id("b"), silentMs, hearingMs },
      ],
      POLICY,
      new Map([[id("b"), before]]),
    ).get(id("b"));

  test("R66: only the silence since then counts", () => {
    expect(hear(99, 19)).toBe("live");
    expect(hear(99, 20)).toBe("silent");
    expect(hear(99, 30)).toBe("lost");
  });

  test("R66: silence that began later is no shorter for it", () => {
    expect(hear(25, 9999)).toBe("silent");
  });

  test("R66: who was lost before stays lost until heard", () => {
    expect(hear(99, 1, "lost")).toBe("lost");
    expect(hear(1, 1, "lost")).toBe("live");
  });

  test("we are cut off when more than half are silent", () => {
    const members = (...silences: readonly number[]) =>
      silences.map((silentMs, at) => ({ cluster: id(`c${at}`), silentMs }));
    const before = new Map<ClusterId, Liveness>();
    expect(isCutOff(members(0, 0, 20), POLICY, before)).toBe(false);
    expect(isCutOff(members(0, 20), POLICY, before)).toBe(false);
    expect(isCutOff(members(0, 20, 20), POLICY, before)).toBe(true);
    expect(isCutOff([], POLICY, before)).toBe(false);
  });
});

test("R65: endpoints of a lost cluster are gone within 30 seconds by default", () => {
  expect(DEFAULT_LIVENESS.unreadyAfterMs).toBeLessThan(DEFAULT_LIVENESS.withdrawAfterMs);
  expect(DEFAULT_LIVENESS.withdrawAfterMs).toBe(30_000);
});

test("every member is judged, and nobody who is heard is anything but live", () => {
  const silence = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), fc.nat(50));
  const before = fc.dictionary(
    fc.constantFrom("a", "b", "c", "d", "e"),
    fc.constantFrom<Liveness>("live", "silent", "lost"),
  );
  fc.assert(
    fc.property(silence, before, (silent, known) => {
      const judged = judge(silent, known);
      expect(Object.keys(judged).toSorted()).toEqual(Object.keys(silent).toSorted());
      const heard = Object.entries(silent).filter(([, ms]) => ms < POLICY.unreadyAfterMs);
      expect(heard.every(([name]) => judged[name] === "live")).toBe(true);
    }),
  );
});
