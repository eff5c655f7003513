// Story: a service that prefers what is close. Asked from zone-a it is answered in zone-a, although another zone has it too, and
// one ready pod there is enough; when no pod there is ready the other zone answers, and no longer than that.

import { expect } from "vitest";
import { POD } from "../../../src/api/builtin.ts";
import { READY_ANNOTATION } from "../kubelet.ts";
import { answerersOf, isFrom, type IsRight, over, podsOf } from "../measured.ts";
import type { Shop } from "../shop.ts";

const CLOSE = { replicas: 2, spec: { trafficDistribution: "PreferClose" } } as const;

export async function zones(shop: Shop): Promise<undefined> {
  // East and west are in zone-a, edge is in zone-b.
  await Promise.all([shop.offer("west", "web", CLOSE), shop.offer("edge", "web", CLOSE)]);
  await shop.leadsTo("web", ["west", "edge"]);
  const caller = await shop.call("east", "web");
  await caller.settles("zone-a answers alone", isFrom("west"));
  const settled = caller.windows.length - 1;

  const [first, second] = await shop.podNames("west", "web");
  await setReadiness(shop, [first], false);
  await shop.leadsTo("web", ["west", "edge"]);
  const isSecond: IsRight = (flow) => podsOf(flow).join() === second;
  await caller.settles("the other pod of zone-a answers", over(["tcp", "udp"], isSecond));
  expect(answerersOf(caller.windows.slice(settled), ["tcp", "udp", "http"])).toEqual(["west"]);

  await setReadiness(shop, [second], false);
  // The pods of west go on serving: a connection that is open stays with them.
  await caller.settles("zone-b answers", over(["tcp", "udp"], isFrom("edge")));

  await setReadiness(shop, [first, second], true);
  await shop.leadsTo("web", ["west", "edge"]);
  // A UDP flow that found a healthy backend stays there: only new ones come back.
  await caller.settles("zone-a answers new connections", over(["tcp"], isFrom("west")));
  const newcomer = await shop.call("east", "web");
  await newcomer.settles("zone-a answers alone", isFrom("west"));
  return undefined;
}

/** Of pods of west, named as callers name them. */
async function setReadiness(
  shop: Shop,
  names: readonly (string | undefined)[],
  isReady: boolean,
): Promise<void> {
  for (const name of names) {
    await shop.edit("west", POD, name!.slice("west/".length), (pod) => ({
      ...pod,
      metadata: {
        ...pod.metadata,
        annotations: { ...pod.metadata.annotations, [READY_ANNOTATION]: String(isReady) },
      },
    }));
  }
}
