import * as fc from "fast-check";
import { expect, test } from "vitest";
import { id } from "../../test/shares.ts";
import type { ClusterId } from "../api/names.ts";
import { DAMPED_AT_MOST_MS, REMEMBERED_AT_MOST_MS } from "./damping.ts";
import {
  DEFAULT_LIVENESS,
  isCutOff,
  judgeLiveness,
  type Judged,
  type Liveness,
  type LivenessInput,
  NOTHING_JUDGED,
} from "./liveness.ts";

const NAMES = ["a", "b", "c", "d", "e"] as const;
const policy = DEFAULT_LIVENESS;
const ORDER: readonly Liveness[] = ["live", "flapping", "silent", "lost"];

/** What is heard of whom, and how long it is until somebody looks again. */
const look = fc.record({
  silent: fc.dictionary(fc.constantFrom(...NAMES), fc.nat(50_000)),
  afterMs: fc.integer({ min: 1, max: 60_000 }),
});
const self = fc.constantFrom(undefined, "a");
const history = fc.array(look, { minLength: 1, maxLength: 30 });
type Look = typeof look extends fc.Arbitrary<infer T> ? T : never;

function inputOf(one: Look, nowMs: number, who: string | undefined): LivenessInput {
  const contacts = Object.entries(one.silent).map(([name, silentMs]) => ({
    cluster: id(name),
    silentMs,
  }));
  return { contacts, policy, nowMs, ...(who === undefined ? {} : { self: id(who) }) };
}

const rankOf = (judged: Judged, cluster: ClusterId): number =>
  ORDER.indexOf(judged.liveness.get(cluster) ?? "live");

/** Every look of the history with what was known before and after it. */
function* follow(looks: readonly Look[], who: string | undefined) {
  let nowMs = 0;
  let before: Judged = NOTHING_JUDGED;
  for (const one of looks) {
    nowMs += one.afterMs;
    const input = inputOf(one, nowMs, who);
    const after = judgeLiveness(input, before);
    yield { input, before, after };
    before = after;
  }
}

test("every member is judged, nobody else is", () => {
  fc.assert(
    fc.property(history, self, (looks, who) => {
      for (const { input, after } of follow(looks, who)) {
        const members = input.contacts.map(({ cluster }) => cluster);
        expect([...after.liveness.keys()].toSorted()).toEqual(members.toSorted());
      }
    }),
  );
});

test("the order of members makes no difference", () => {
  fc.assert(
    fc.property(history, self, (looks, who) => {
      for (const { input, before, after } of follow(looks, who)) {
        const reversed = { ...input, contacts: input.contacts.toReversed() };
        expect(judgeLiveness(reversed, before)).toEqual(after);
      }
    }),
  );
});

test("R66: who is heard is live, or flapping; who is not is no better than before", () => {
  fc.assert(
    fc.property(history, self, (looks, who) => {
      for (const { input, before, after } of follow(looks, who)) {
        const wrong = input.contacts.filter(({ cluster, silentMs }) => {
          const is = after.liveness.get(cluster) ?? "live";
          if (cluster === who) return is !== "live";
          if (silentMs < policy.unreadyAfterMs) return is !== "live" && is !== "flapping";
          return ORDER.indexOf(is) < rankOf(before, cluster);
        });
        expect(wrong).toEqual([]);
      }
    }),
  );
});

test("R65: while we are cut off nobody is judged worse, nor sooner than the bounds after", () => {
  fc.assert(
    fc.property(history, self, (looks, who) => {
      for (const { input, before, after } of follow(looks, who)) {
        const hearingMs = input.nowMs - after.cutOffAtMs;
        expect(hearingMs === 0).toBe(isCutOff(input, before.liveness));
        const judgedWorse = (than: Liveness) =>
          [...after.liveness].filter(
            ([cluster, is]) => is === than && ORDER.indexOf(is) > rankOf(before, cluster),
          );
        expect(hearingMs >= policy.unreadyAfterMs || judgedWorse("silent").length === 0).toBe(true);
        expect(hearingMs >= policy.withdrawAfterMs || judgedWorse("lost").length === 0).toBe(true);
      }
    }),
  );
});

test("R65: a member that does not hear itself judges nobody worse", () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 10_000, max: 50_000 }), (looks, silentMs) => {
      const deaf = looks.map((one) => ({ ...one, silent: { ...one.silent, a: silentMs } }));
      for (const { after } of follow(deaf, "a")) {
        expect([...after.liveness.values()].every((is) => is === "live")).toBe(true);
      }
    }),
  );
});

test("whatever happened before, after quiet for the stated time everybody is live and nothing is remembered", () => {
  fc.assert(
    fc.property(history, self, (looks, who) => {
      const { after, input } = [...follow(looks, who)].at(-1)!;
      const heard = { silent: Object.fromEntries(NAMES.map((name) => [name, 0])), afterMs: 0 };
      const calmMs = input.nowMs + DAMPED_AT_MOST_MS;
      const calm = judgeLiveness(inputOf(heard, calmMs, who), after);
      expect([...calm.liveness.values()].every((is) => is === "live")).toBe(true);
      const later = judgeLiveness(inputOf(heard, input.nowMs + REMEMBERED_AT_MOST_MS, who), calm);
      expect(later.outages.size).toBe(0);
    }),
  );
});
