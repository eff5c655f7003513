import { describe, expect, test } from "vitest";
import { id } from "../../test/shares.ts";
import type { ClusterId } from "../api/names.ts";
import { DEFAULT_LIVENESS, judgeLiveness, type Judged, type Liveness } from "./liveness.ts";

const POLICY = { unreadyAfterMs: 20, withdrawAfterMs: 30 };
const NOW_MS = 1_000_000;
type Verdict = Readonly<Record<string, Liveness>>;

/** `silent`: since how long, by member. */
function judge(
  silent: Readonly<Record<string, number>>,
  before: Verdict = {},
  options: { readonly self?: string; readonly cutOffAtMs?: number } = {},
): Verdict {
  const contacts = Object.entries(silent).map(([name, silentMs]) => ({
    cluster: id(name),
    silentMs,
  }));
  const known: Judged = {
    liveness: new Map(Object.entries(before) as [ClusterId, Liveness][]),
    outages: new Map(),
    cutOffAtMs: options.cutOffAtMs ?? -Infinity,
  };
  const self = options.self === undefined ? {} : { self: id(options.self) };
  const input = { contacts, policy: POLICY, nowMs: NOW_MS, ...self };
  return Object.fromEntries(judgeLiveness(input, known).liveness);
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

  test("who was silent or flapping before stays that", () => {
    const before = { b: "silent", c: "flapping" } as const;
    expect(judge({ a: 0, b: 99, c: 99 }, before)).toEqual({ a: "live", ...before });
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

  test("half of the time that silence takes counts already", () => {
    expect(judge({ a: 9, b: 10, c: 99 }).c).toBe("live");
    expect(judge({ a: 9, b: 9, c: 99 }).c).toBe("lost");
  });
});

describe("after we were cut off ourselves", () => {
  const hear = (silentMs: number, hearingMs: number, before: Liveness = "live") =>
    judge({ a: 0, b: silentMs }, { b: before }, { cutOffAtMs: NOW_MS - hearingMs }).b;

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
});

describe("a judge that is a member itself", () => {
  const self = { self: "me" };

  test("is live for itself, however long its heartbeat takes to come back", () => {
    expect(judge({ me: 9999, b: 0, c: 0 }, {}, self).me).toBe("live");
  });

  test("is cut off when its own heartbeat has not come back for half the time: nobody is judged worse", () => {
    expect(judge({ me: 10, b: 99, c: 0, d: 0 }, {}, self).b).toBe("live");
    expect(judge({ me: 9, b: 99, c: 0, d: 0 }, {}, self).b).toBe("lost");
  });

  test("is cut off when the hub does not know it", () => {
    expect(judge({ b: 99, c: 0, d: 0 }, {}, self).b).toBe("live");
  });

  test("hears others though it is cut off", () => {
    expect(judge({ me: 99, b: 0 }, { b: "lost" }, self).b).toBe("live");
  });

  test("R65: loses the other of two: its own heartbeat came back", () => {
    expect(judge({ me: 0, b: 99 }, {}, self).b).toBe("lost");
  });

  test("of three, loses one; two at once are most", () => {
    expect(judge({ me: 0, b: 99, c: 0 }, {}, self).b).toBe("lost");
    expect(judge({ me: 0, b: 99, c: 99 }, {}, self)).toMatchObject({ b: "live", c: "live" });
  });

  test("R65: of three, loses the second though the first is lost already", () => {
    expect(judge({ me: 0, b: 99, c: 99 }, { b: "lost" }, self).c).toBe("lost");
  });

  test("R65: of four, loses two at once: one region of two", () => {
    expect(judge({ me: 0, b: 99, c: 99, d: 0 }, {}, self)).toMatchObject({ b: "lost", c: "lost" });
  });

  test("of five, loses two at once; three are most", () => {
    expect(judge({ me: 0, b: 99, c: 99, d: 0, e: 0 }, {}, self).b).toBe("lost");
    expect(judge({ me: 0, b: 99, c: 99, d: 99, e: 0 }, {}, self).b).toBe("live");
  });
});

describe("a member that comes and goes", () => {
  const MINUTE_MS = 60_000;
  const policy = DEFAULT_LIVENESS;

  /** At each given time it has been silent for so long; the others are heard throughout. */
  function follow(...moments: readonly (readonly [atMs: number, silentMs: number])[]): Judged {
    let judged: Judged = { liveness: new Map(), outages: new Map(), cutOffAtMs: -Infinity };
    for (const [nowMs, silentMs] of moments) {
      const contacts = [
        { cluster: id("a"), silentMs },
        { cluster: id("b"), silentMs: 0 },
      ];
      judged = judgeLiveness({ contacts, policy, nowMs }, judged);
    }
    return judged;
  }
  const outageAt = (minutes: number, silentMs = 30_000) =>
    [
      [minutes * MINUTE_MS, silentMs],
      [minutes * MINUTE_MS + 5_000, 0],
    ] as const;
  const last = (judged: Judged) => judged.liveness.get(id("a"));

  test("once or twice is live as soon as it is heard", () => {
    expect(last(follow(...outageAt(0)))).toBe("live");
    expect(last(follow(...outageAt(0), ...outageAt(1)))).toBe("live");
  });

  test("three times in as many minutes is flapping, though it is heard", () => {
    expect(last(follow(...outageAt(0), ...outageAt(1), ...outageAt(2)))).toBe("flapping");
  });

  test("is flapping also when each time it is back just before it is lost", () => {
    const short = [0, 1, 2].flatMap((minutes) => outageAt(minutes, 25_000));
    expect(last(follow(...short))).toBe("flapping");
  });

  test("counts an outage once, though it is silent first and lost later", () => {
    const long = [0, 1].flatMap((minutes) => [
      [minutes * MINUTE_MS, 20_000] as const,
      [minutes * MINUTE_MS + 10_000, 30_000] as const,
      [minutes * MINUTE_MS + 15_000, 0] as const,
    ]);
    expect(last(follow(...long))).toBe("live");
  });

  test("lost while flapping is lost as usual", () => {
    const flapping = [...outageAt(0), ...outageAt(1), ...outageAt(2)];
    expect(last(follow(...flapping, [3 * MINUTE_MS, 20_000]))).toBe("silent");
    expect(last(follow(...flapping, [3 * MINUTE_MS, 30_000]))).toBe("lost");
  });

  test("is live again after it has been quiet", () => {
    const flapping = [...outageAt(0), ...outageAt(1), ...outageAt(2)];
    expect(last(follow(...flapping, [3 * MINUTE_MS, 0]))).toBe("flapping");
    expect(last(follow(...flapping, [6 * MINUTE_MS, 0]))).toBe("live");
  });

  test("that is gone for good is forgotten", () => {
    const gone = follow(...outageAt(0), ...outageAt(1), ...outageAt(2));
    const judged = judgeLiveness({ contacts: [], policy, nowMs: 60 * MINUTE_MS }, gone);
    expect(judged.outages.size + judged.liveness.size).toBe(0);
  });

  test("that leaves and comes back at once is remembered", () => {
    const gone = judgeLiveness(
      { contacts: [], policy, nowMs: 2 * MINUTE_MS + 6_000 },
      follow(...outageAt(0), ...outageAt(1), ...outageAt(2)),
    );
    const contacts = [{ cluster: id("a"), silentMs: 0 }];
    const back = judgeLiveness({ contacts, policy, nowMs: 2 * MINUTE_MS + 7_000 }, gone);
    expect(last(back)).toBe("flapping");
  });

  test("is not held to have been out while we were cut off", () => {
    let judged = follow([0, 0]);
    for (const minutes of [1, 2, 3, 4]) {
      for (const silentMs of [30_000, 0]) {
        const contacts = [id("a"), id("b")].map((cluster) => ({ cluster, silentMs }));
        judged = judgeLiveness({ contacts, policy, nowMs: minutes * MINUTE_MS + 10 }, judged);
      }
    }
    expect(last(judged)).toBe("live");
    expect(judged.outages.size).toBe(0);
  });
});

test("R65: endpoints of a lost cluster are gone within 30 seconds by default", () => {
  expect(DEFAULT_LIVENESS.unreadyAfterMs).toBeLessThan(DEFAULT_LIVENESS.withdrawAfterMs);
  expect(DEFAULT_LIVENESS.withdrawAfterMs).toBe(30_000);
});
