// Story: edge loses its power. Requests that it should answer fail until it is withdrawn, which takes as long as is stated
// (docs/central.md) and no longer; everybody else goes on. Power comes back, and edge is used again.

import { expect } from "vitest";
import {
  clustersOf,
  countFailed,
  failuresOf,
  isAnsweredBy,
  isFrom,
  type IsRight,
  lastFailureMs,
  nameOf,
  over,
} from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import type { Tally } from "../programs/tally.ts";
import type { Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";

/** Withdrawn after 30 s of silence, of which the last sign of life was up to 5 s old, or just given. */
const WITHDRAWN_MS = 30_000 + 5_000;
/** A second until kube-proxy acts, and one until a request that was on its way is given up. */
const UNTIL_SEEN_MS = 2_000;
/** Servers, controllers, pods and an agent start on a busy machine. */
const RETURN_MS = 90_000;
/** Requests that are given up after a second each, one after the other: chance alone does not make so many. */
const GAP_MS = 15_000;

export async function loss(shop: Shop): Promise<string> {
  const { bed, engine } = shop;
  await Promise.all(MEMBERS.map((id) => shop.offer(id, "web", { replicas: 2 })));
  await shop.leadsTo("web", MEMBERS);
  const callers = await Promise.all([shop.call("east", "web"), shop.call("west", "web")]);
  const before = await Promise.all(
    callers.map((caller) =>
      caller.settles("all answer", over(["tcp"], isFrom("east", "edge", "west"))),
    ),
  );

  for (const caller of callers) await caller.excuse();
  const cutAtMs = Date.now();
  await bed.clusters.edge.kill();
  const during = await Promise.all(callers.map(untilQuiet));
  const all = during.flat();
  const lastMs = (lastFailureMs(all) ?? cutAtMs) - cutAtMs;
  expect(lastMs).toBeLessThan(WITHDRAWN_MS + UNTIL_SEEN_MS);
  for (const [index, windows] of during.entries()) expectOthersWell(before[index]!, windows);
  for (const caller of callers) await caller.holdToAccount();

  const pods = await shop.podNames("east", "web");
  await Promise.all(
    callers.map((caller) => caller.sees("east goes on", over(["tcp"], isAnsweredBy(pods)))),
  );

  // Its API server has its pods down as ready until the kubelet finds out: for that moment nobody can know better.
  const counted = callers.map(({ windows }) => windows.length + 1);
  for (const caller of callers) await caller.excuse();
  await bed.clusters.edge.revive();
  await engine.reviveWith("edge");
  await Promise.all(
    callers.map((caller) =>
      caller.settles(
        "edge is used again, and nothing fails",
        (flow) => flow.failed === 0 && over(["tcp"], isFrom("east", "edge", "west"))(flow),
        RETURN_MS,
      ),
    ),
  );
  const after = callers.flatMap(({ windows }, index) => windows.slice(counted[index]));
  for (const caller of callers) await caller.holdToAccount();
  const cut = `${countFailed(all)} failed until ${(lastMs / 1_000).toFixed(1)} s after the power cut`;
  return `${cut}, ${countFailed(after)} while it came back`;
}

/** All windows from the power cut until a whole one without a failure and without edge. */
async function untilQuiet(caller: Stream): Promise<readonly Tally[]> {
  const { length } = caller.windows;
  const isQuiet: IsRight = (flow) => flow.failed === 0 && !clustersOf(flow).includes("edge");
  await caller.settles("edge is not asked any more", isQuiet, 2 * WITHDRAWN_MS);
  return caller.windows.slice(length);
}

/** Who was connected to another cluster noticed nothing; who connects anew is answered all the time. */
function expectOthersWell(before: Tally, windows: readonly Tally[]): void {
  for (const flow of before.flows) {
    const same = windows
      .flatMap(({ flows }) => flows)
      .filter((each) => nameOf(each) === nameOf(flow));
    if (flow.protocol !== "tcp" && !clustersOf(flow).includes("edge")) {
      expect(windows.flatMap(failuresOf).filter((text) => text.startsWith(nameOf(flow)))).toEqual(
        [],
      );
    }
    if (flow.protocol !== "udp") {
      expect(Math.max(...same.map(({ longestGapMs }) => longestGapMs))).toBeLessThan(GAP_MS);
    }
  }
}
