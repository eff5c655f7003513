import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { aService } from "../../test/kubeObjects.ts";
import { NODE, SERVICE, type Service } from "../api/builtin.ts";
import { createFreshness, REMEMBER_MS } from "./freshness.ts";

const OWNER = "shop/web";
const version = (resourceVersion: string, uid = "u-1"): Service =>
  aService({}, { resourceVersion, uid });

function remembering() {
  const clock = new VirtualClock();
  const faded: string[] = [];
  const freshness = createFreshness({ clock, onFaded: (owner) => faded.push(owner) });
  const read = (...cached: readonly Service[]): readonly (string | undefined)[] =>
    freshness.correct(OWNER, SERVICE, cached).map(({ metadata }) => metadata.resourceVersion);
  return { clock, freshness, read, faded };
}

describe("what we wrote", () => {
  test("stands in for the older version in the cache", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(read(version("1"))).toEqual(["2"]);
    expect(freshness.isAhead(OWNER)).toBe(true);
  });

  test("is there before the cache knows of it at all", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(read()).toEqual(["2"]);
  });

  test("is forgotten when the watch shows it: from then on the cache is right", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") });
    expect(freshness.isAhead(OWNER)).toBe(false);
    expect(read(version("3"))).toEqual(["3"]);
  });

  test("is not forgotten for an older event that comes late", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("3"));
    freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") });
    expect(read(version("2"))).toEqual(["3"]);
  });

  test("is not resurrected by the deletion of what was there before it", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("5", "u-2"));
    freshness.saw(OWNER, SERVICE, { before: version("1", "u-1") });
    expect(read()).toEqual(["5"]);
  });

  test("is forgotten when somebody else changed or deleted it after the watch had shown it", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    freshness.saw(OWNER, SERVICE, { before: version("2"), after: version("3") });
    expect(read(version("3"))).toEqual(["3"]);
    freshness.wrote(OWNER, SERVICE, version("4"));
    freshness.saw(OWNER, SERVICE, { before: version("4") });
    expect(read()).toEqual([]);
  });

  test("is not held against a cache that shows it already, the watch being quicker than the answer", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(read(version("2"))).toEqual(["2"]);
    expect(freshness.isAhead(OWNER)).toBe(false);
  });

  test("is forgotten for a later version: a relist may have skipped ours", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("9"));
    expect(read(version("8"))).toEqual(["9"]);
    expect(read(version("10"))).toEqual(["10"]);
    expect(freshness.isAhead(OWNER)).toBe(false);
    freshness.wrote(OWNER, SERVICE, version("11"));
    freshness.saw(OWNER, SERVICE, { before: version("10"), after: version("12") });
    expect(freshness.isAhead(OWNER)).toBe(false);
  });

  test("fades when the cache never shows it, nor a version that can be told to be later", async () => {
    const { clock, freshness, read, faded } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    await clock.advance(REMEMBER_MS - 1);
    expect(read(version("1"))).toEqual(["2"]);
    expect(read(version("3a"))).toEqual(["2"]);
    expect(faded).toEqual([]);
    await clock.advance(1);
    expect(freshness.isAhead(OWNER)).toBe(false);
    expect(read(version("1"))).toEqual(["1"]);
    expect(faded).toEqual([OWNER]);
  });

  test("tells nobody when it was seen in time, however much else was written meanwhile", async () => {
    const { clock, freshness, faded } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    freshness.saw(OWNER, SERVICE, { after: version("2") });
    await clock.advance(REMEMBER_MS / 2);
    freshness.wrote("shop/late", SERVICE, version("7"));
    await clock.advance(REMEMBER_MS / 2);
    expect(faded).toEqual([]);
    await clock.advance(REMEMBER_MS);
    expect(faded).toEqual(["shop/late"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("is no news when just that comes back", () => {
    const { freshness } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") })).toBe(true);
    expect(freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") })).toBe(
      false,
    );
    freshness.deleted(OWNER, SERVICE, version("2"));
    expect(freshness.saw(OWNER, SERVICE, { before: version("2") })).toBe(true);
  });

  test.each([
    ["an older version", version("1")],
    ["a later version", version("3")],
    ["another object of its name", version("2a", "u-2")],
  ])("is news when %s comes", (_, after) => {
    const { freshness } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(freshness.saw(OWNER, SERVICE, { after })).toBe(false);
    freshness.deleted(OWNER, SERVICE, version("2"));
    expect(freshness.saw(OWNER, SERVICE, { before: version("1"), after })).toBe(false);
  });

  test("last counts", () => {
    const { freshness, read } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    freshness.wrote(OWNER, SERVICE, version("3"));
    freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") });
    expect(read(version("2"))).toEqual(["3"]);
  });
});

describe("what we deleted", () => {
  test("is gone, though the cache still has it", () => {
    const { freshness, read } = remembering();
    freshness.deleted(OWNER, SERVICE, version("1"));
    expect(read(version("1"))).toEqual([]);
  });

  test("is forgotten when the watch shows its end", () => {
    const { freshness } = remembering();
    freshness.deleted(OWNER, SERVICE, version("1"));
    freshness.saw(OWNER, SERVICE, { before: version("1") });
    expect(freshness.isAhead(OWNER)).toBe(false);
  });

  test("stays gone while the watch shows older changes of it", () => {
    const { freshness, read } = remembering();
    freshness.deleted(OWNER, SERVICE, version("1"));
    freshness.saw(OWNER, SERVICE, { before: version("1"), after: version("2") });
    expect(read(version("2"))).toEqual([]);
  });

  test("does not hide another object that took its name", () => {
    const { freshness, read } = remembering();
    freshness.deleted(OWNER, SERVICE, version("1"));
    expect(read(version("7", "u-2"))).toEqual(["7"]);
  });

  test("and wrote again is there", () => {
    const { freshness, read } = remembering();
    freshness.deleted(OWNER, SERVICE, version("1"));
    freshness.wrote(OWNER, SERVICE, version("2", "u-2"));
    expect(read(version("1"))).toEqual(["2"]);
  });
});

describe("memories", () => {
  test("of one owner are none of another's", () => {
    const { freshness } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(freshness.isAhead("shop/other")).toBe(false);
    const cached = [version("1")];
    expect(freshness.correct("shop/other", SERVICE, cached)).toBe(cached);
    freshness.saw("shop/other", SERVICE, { after: version("2") });
    expect(freshness.isAhead(OWNER)).toBe(true);
  });

  test("of one kind are none of another's", () => {
    const { freshness } = remembering();
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(freshness.correct(OWNER, NODE, [])).toEqual([]);
  });

  test("leave other objects of the same owner alone", () => {
    const { freshness, read } = remembering();
    const other = aService({}, { name: "other", resourceVersion: "8" });
    freshness.wrote(OWNER, SERVICE, version("2"));
    expect(read(version("1"), other)).toEqual(["2", "8"]);
  });

  test("of nothing are no trouble", () => {
    const { freshness } = remembering();
    freshness.saw(OWNER, SERVICE, {});
    freshness.saw(OWNER, SERVICE, { after: version("1") });
    expect(freshness.isAhead(OWNER)).toBe(false);
  });
});
