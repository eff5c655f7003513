// Story: the hub is away for two minutes. Not one request fails anywhere; clusters go on by themselves, and what happened
// meanwhile is known everywhere when the hub is back.

import { eventually } from "../../scenarios/poll.ts";
import { isAnsweredBy, type IsRight, over } from "../measured.ts";
import type { Shop } from "../shop.ts";

const AWAY_MS = 120_000;

export async function hubless(shop: Shop): Promise<string> {
  const { engine } = shop;
  await Promise.all([
    shop.offer("west", "web", { replicas: 2 }),
    shop.offer("edge", "web", { replicas: 1 }),
  ]);
  await shop.leadsTo("web", ["west", "edge"]);
  const target = `web.${shop.namespace}.svc.cluster.local`;
  const [east, west, home] = await Promise.all([
    shop.call("east", "web"),
    shop.call("west", "web"),
    shop.call("west", "web", { target }),
  ]);
  const before = await shop.podNames("west", "web");

  const beganMs = performance.now();
  await engine.killHub();
  let isUsed: IsRight;
  try {
    await shop.scale("west", "web", 3);
    const pods = await shop.podNames("west", "web");
    isUsed = over(["tcp"], isAnsweredBy(pods.filter((pod) => !before.includes(pod))));
    await home.sees("the new pod answers at home", isUsed);
    // Each agent knows its own cluster; without the central process nobody tells the clusterset.
    if (engine.restartAgent !== undefined) {
      await west.sees("the new pod answers by the name of the clusterset", isUsed);
      await engine.restartAgent("east");
    }
    await eventually(
      "two minutes are over",
      () => {
        if (performance.now() - beganMs < AWAY_MS) throw new Error("not yet");
      },
      AWAY_MS + 1_000,
    );
  } finally {
    // The stories that come next need it.
    await engine.reviveHub();
  }
  const awaySeconds = Math.round((performance.now() - beganMs) / 1_000);
  await shop.leadsTo("web", ["west", "edge"]);
  for (const stream of [east, west]) await stream.sees("the new pod answers", isUsed);
  return `hub away for ${awaySeconds} s`;
}
