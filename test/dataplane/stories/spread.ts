// Story: one service in east, west and edge. Requests spread over every ready pod, whoever asks; more pods get their part,
// fewer and restarted ones cost nothing, because they drain before they end.

import { isAnsweredBy, over } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import type { Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";

export async function spread(shop: Shop): Promise<undefined> {
  await Promise.all(
    MEMBERS.map((id) => shop.offer(id, "web", { replicas: id === "west" ? 2 : 1 })),
  );
  await shop.leadsTo("web", MEMBERS);
  const callers = [await shop.call("east", "web"), await shop.call("edge", "web")];
  await everyPodAnswers(shop, callers);

  await shop.scale("west", "web", 4);
  await everyPodAnswers(shop, callers);
  await Promise.all([shop.scale("west", "web", 1), shop.scale("east", "web", 2)]);
  await everyPodAnswers(shop, callers);

  await Promise.all(MEMBERS.map((id) => shop.restart(id, "web")));
  await everyPodAnswers(shop, callers);
  return undefined;
}

/** And nobody else does. Each new connection chooses anew, which the other flows do not. */
async function everyPodAnswers(shop: Shop, callers: readonly Stream[]): Promise<void> {
  await shop.leadsTo("web", MEMBERS);
  const pods = (await Promise.all(MEMBERS.map((id) => shop.podNames(id, "web")))).flat();
  await Promise.all(
    callers.map(async (caller) => {
      await caller.settles("only pods that are there answer", ({ byPod }) =>
        Object.keys(byPod).every((pod) => pods.includes(pod)),
      );
      await caller.sees("every pod answers", over(["tcp"], isAnsweredBy(pods)));
    }),
  );
}
