// Story: edge loses its power. Requests that it should answer fail until it is out of use, which takes as long as is stated
// (docs/reliability.md) and no longer; everybody else goes on. Power comes back, and edge is used again.

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
import { PATIENCE } from "../programs/ports.ts";
import type { FlowProtocol, Tally } from "../programs/tally.ts";
import { uptimeMs } from "../programs/uptime.ts";
import type { Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";

/**
 * Not ready after 20 s of silence, which is noticed by a heartbeat's 5 s; kube-proxy takes its second to act; 4 s for a busy
 * machine. Requests that were asked before may fail, however long they are waited for.
 */
const OUT_OF_USE_MS = 20_000 + 5_000 + 1_000 + 4_000;
/** Servers, controllers, pods and an agent start on a busy machine. */
const RETURN_MS = 180_000;
/**
 * Of the flow that waits least of its protocol: connections to edge that are given up after two seconds each, one after the
 * other. Chance makes many of them for one flow, but not for all at once.
 */
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
  const cutAtMs = uptimeMs();
  await bed.clusters.edge.kill();
  const isQuiet: IsRight = (flow) => flow.failed === 0 && !clustersOf(flow).includes("edge");
  const during = await Promise.all(
    callers.map((caller) =>
      excusedUntil(caller, "edge is not asked any more", isQuiet, 2 * OUT_OF_USE_MS),
    ),
  );
  const lastMs = (lastFailureMs(during.flat()) ?? cutAtMs) - cutAtMs;
  expect(lastMs).toBeLessThan(OUT_OF_USE_MS);
  expectOthersWell(before, during);

  const pods = await shop.podNames("east", "web");
  const without = await Promise.all(
    callers.map((caller) => caller.settles("east goes on", over(["tcp"], isAnsweredBy(pods)))),
  );

  // Its API server has its pods down as ready until the kubelet finds out: for that moment nobody can know better.
  for (const caller of callers) await caller.excuse();
  await bed.clusters.edge.revive();
  await engine.reviveWith("edge");
  const isBack: IsRight = (flow) =>
    flow.failed === 0 && over(["tcp"], isFrom("east", "edge", "west"))(flow);
  const after = await Promise.all(
    callers.map((caller) =>
      excusedUntil(caller, "edge is used again, and nothing fails", isBack, RETURN_MS),
    ),
  );
  expectOthersWell(without, after);
  const seconds = (lastMs / 1_000).toFixed(1);
  const cut = `${countFailed(during.flat())} failed until ${seconds} s after the power cut`;
  return `${cut}, ${countFailed(after.flat())} while it came back`;
}

/** Until a whole window is right; from then on nothing may fail. Answers all windows since it was excused. */
async function excusedUntil(
  caller: Stream,
  what: string,
  isRight: IsRight,
  limitMs: number,
): Promise<readonly Tally[]> {
  const { length } = caller.windows;
  await caller.settles(what, isRight, limitMs);
  await caller.holdToAccount();
  return caller.windows.slice(length);
}

/** Of each caller: who was connected to another cluster noticed nothing; who connects anew is answered all the time. */
function expectOthersWell(before: readonly Tally[], windows: readonly (readonly Tally[])[]): void {
  for (const [index, { flows }] of before.entries()) {
    const failures = windows[index]!.flatMap(failuresOf);
    const elsewhere = flows.filter(
      (flow) => flow.protocol !== "tcp" && !clustersOf(flow).includes("edge"),
    );
    for (const flow of elsewhere) {
      expect(failures.filter((text) => text.startsWith(nameOf(flow)))).toEqual([]);
    }
  }
  for (const protocol of ["tcp", "http"] as const) {
    const gaps = longestGapsOf(windows, protocol);
    expect(Math.min(...gaps)).toBeLessThan(GAP_MS);
    expect(Math.max(...gaps)).toBeLessThan(OUT_OF_USE_MS + PATIENCE.timeoutMs);
  }
}

/** One for each flow of each caller. */
function longestGapsOf(
  windows: readonly (readonly Tally[])[],
  protocol: FlowProtocol,
): readonly number[] {
  return windows.flatMap((tallies) => {
    const flows = tallies
      .flatMap((tally) => tally.flows)
      .filter((flow) => flow.protocol === protocol);
    const names = [...new Set(flows.map(nameOf))];
    return names.map((name) =>
      Math.max(...flows.filter((flow) => nameOf(flow) === name).map((flow) => flow.longestGapMs)),
    );
  });
}
