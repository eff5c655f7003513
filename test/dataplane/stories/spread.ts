// Story: one service in east, west and edge. Requests spread over every ready pod, whoever asks; more pods get their part,
// fewer and restarted ones cost nothing, because they drain before they end, whether they say so or not.

import { expect } from "vitest";
import { eventually } from "../../scenarios/poll.ts";
import { isAnsweredBy, over } from "../measured.ts";
import { MEMBERS, type MemberName } from "../plan.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";

export async function spread(shop: Shop): Promise<undefined> {
  await Promise.all(
    MEMBERS.map((id) => shop.offer(id, "web", { replicas: id === "west" ? 2 : 1 })),
  );
  await shop.leadsTo("web", MEMBERS);
  const callers = [await shop.call("east", "web"), await shop.call("edge", "web")];
  await everyPodAnswers(shop, "web", MEMBERS, callers);

  await shop.scale("west", "web", 4);
  await everyPodAnswers(shop, "web", MEMBERS, callers);
  await Promise.all([shop.scale("west", "web", 1), shop.scale("east", "web", 2)]);
  await everyPodAnswers(shop, "web", MEMBERS, callers);

  await Promise.all(MEMBERS.map((id) => shop.restart(id, "web")));
  await everyPodAnswers(shop, "web", MEMBERS, callers);

  await restartsReadyPods(shop);
  return undefined;
}

/** They serve, and say so, until they end. A UDP flow stays with such a pod to its end, and is not asked for here. */
async function restartsReadyPods(shop: Shop): Promise<void> {
  await shop.offer("west", "steady", { replicas: 2, staysReady: true });
  await shop.leadsTo("steady", ["west"]);
  const caller = await shop.call("east", "steady", { protocols: ["tcp", "http"] });
  await Promise.all([
    shop.restart("west", "steady"),
    eventually(
      "east knows of a pod that serves although it ends",
      async () => {
        const endpoints = (await shop.slices("east", "steady")).flatMap((each) => each.endpoints);
        const conditions = { ready: false, serving: true, terminating: true };
        expect(endpoints).toContainEqual(expect.objectContaining({ conditions }));
      },
      LIMIT_MS,
    ),
  ]);
  await everyPodAnswers(shop, "steady", ["west"], [caller]);
}

/** And nobody else does. Each new connection chooses anew, which the other flows do not. */
async function everyPodAnswers(
  shop: Shop,
  name: string,
  sources: readonly MemberName[],
  callers: readonly Stream[],
): Promise<void> {
  await shop.leadsTo(name, sources);
  const pods = (await Promise.all(sources.map((id) => shop.podNames(id, name)))).flat();
  await Promise.all(
    callers.map(async (caller) => {
      await caller.settles("only pods that are there answer", ({ byPod }) =>
        Object.keys(byPod).every((pod) => pods.includes(pod)),
      );
      await caller.sees("every pod answers", over(["tcp"], isAnsweredBy(pods)));
    }),
  );
}
