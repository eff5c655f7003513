import { describe, expect, test } from "vitest";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Liveness } from "../core/liveness.ts";
import { createAnswers } from "./answers.ts";
import type { Questions } from "./questions.ts";

const EAST = "east" as ClusterId;
const WEST = "west" as ClusterId;
const WEB = "shop/web" as ServiceKey;
const API = "shop/api" as ServiceKey;

function openMembers() {
  const liveness = new Map<ClusterId, Liveness>();
  const awaited = new Set<ClusterId>();
  const state = { isComplete: false };
  let asked = 0;
  const questions: Questions = {
    livenessOf(cluster) {
      asked += 1;
      return liveness.get(cluster) ?? "live";
    },
    isUnheard: () => false,
    isDrained: () => false,
    isAwaited: (cluster) => awaited.has(cluster),
    hasStrangers: () => false,
    isComplete: () => state.isComplete,
  };
  return { liveness, awaited, state, asked: () => asked, answers: createAnswers(questions) };
}

describe("createAnswers", () => {
  test("only who asked about a member is told that it is another", () => {
    const { answers, liveness } = openMembers();
    const web = answers.ask();
    expect(web.livenessOf(EAST)).toBe("live");
    answers.keep(WEB, web);
    const api = answers.ask();
    expect(api.livenessOf(WEST)).toBe("live");
    answers.keep(API, api);
    expect(answers.outdated()).toEqual([]);
    liveness.set(WEST, "lost");
    expect(answers.outdated()).toEqual([API]);
  });

  test.each<[string, (world: ReturnType<typeof openMembers>) => void]>([
    ["a member is awaited", ({ awaited }) => awaited.add(EAST)],
    ["nobody is awaited any more", ({ state }) => (state.isComplete = true)],
  ])("a plan that asked for it is out of date when %s", (_, change) => {
    const world = openMembers();
    const asking = world.answers.ask();
    asking.isAwaited(EAST);
    asking.isComplete();
    world.answers.keep(WEB, asking);
    change(world);
    expect(world.answers.outdated()).toEqual([WEB]);
  });

  test("a plan that asked nothing is never out of date", () => {
    const { answers, state } = openMembers();
    answers.keep(WEB, answers.ask());
    state.isComplete = true;
    expect(answers.outdated()).toEqual([]);
  });

  test("the last plan of a service counts, not those before", () => {
    const { answers, liveness } = openMembers();
    const before = answers.ask();
    before.livenessOf(EAST);
    answers.keep(WEB, before);
    const after = answers.ask();
    after.livenessOf(WEST);
    answers.keep(WEB, after);
    liveness.set(EAST, "lost");
    expect(answers.outdated()).toEqual([]);
    liveness.set(WEST, "lost");
    expect(answers.outdated()).toEqual([WEB]);
  });

  test("answers that were others before the plan was carried out do not hold", () => {
    const { answers, liveness } = openMembers();
    const asking = answers.ask();
    asking.livenessOf(EAST);
    liveness.set(EAST, "silent");
    expect(answers.keep(WEB, asking)).toBe(false);
    expect(answers.outdated()).toEqual([WEB]);
  });

  test("within one plan the answer stays the same", () => {
    const { answers, liveness } = openMembers();
    const asking = answers.ask();
    asking.livenessOf(EAST);
    liveness.set(EAST, "lost");
    expect(asking.livenessOf(EAST)).toBe("live");
  });

  test("who is forgotten is told nothing", () => {
    const { answers, liveness } = openMembers();
    const asking = answers.ask();
    asking.livenessOf(EAST);
    answers.keep(WEB, asking);
    answers.forget(WEB);
    liveness.set(EAST, "lost");
    expect(answers.outdated()).toEqual([]);
  });

  test("of a thousand services that asked the same, the question is asked once", () => {
    const { answers, asked } = openMembers();
    for (let index = 0; index < 1_000; index++) {
      const asking = answers.ask();
      asking.livenessOf(EAST);
      answers.keep(`shop/web-${index}` as ServiceKey, asking);
    }
    const before = asked();
    answers.outdated();
    expect(asked() - before).toBe(1);
  });
});
