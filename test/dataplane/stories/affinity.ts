// Story: session affinity by client IP, with backends in three clusters. A client stays with one backend, for each port and
// family (kube-proxy promises no more: every port chooses for itself); when that one ends, with another.

import { expect } from "vitest";
import { POD } from "../../../src/api/builtin.ts";
import { nameOf, podsOf } from "../measured.ts";
import { MEMBERS, type MemberName } from "../plan.ts";
import type { Tally } from "../programs/tally.ts";
import type { Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";

const BY_CLIENT = { replicas: 2, spec: { sessionAffinity: "ClientIP" } } as const;

export async function affinity(shop: Shop): Promise<string> {
  await Promise.all(MEMBERS.map((id) => shop.offer(id, "web", BY_CLIENT)));
  await shop.leadsTo("web", MEMBERS);
  const callers = await Promise.all([shop.call("east", "web"), shop.call("east", "web")]);
  const chosen = await Promise.all(callers.map(staysWithOne));

  const [caller] = callers;
  const before = chosen[0]!;
  const gone = before.get("tcp over IPv4")!;
  const [id, pod] = gone.split("/") as [MemberName, string];
  await shop.delete(id, POD, pod);
  await shop.podsAreReady(id, "web", BY_CLIENT.replicas);
  await shop.leadsTo("web", MEMBERS);
  const after = await staysWithOne(caller);
  for (const [flow, backend] of before) {
    if (backend === gone) expect(after.get(flow)).not.toBe(gone);
    else expect(`${flow}: ${after.get(flow)}`).toBe(`${flow}: ${backend}`);
  }
  const backends = new Set(chosen.flatMap((each) => [...each.values()]));
  expect([...backends].filter((backend) => !backend.startsWith("east/"))).not.toEqual([]);
  return `${backends.size} backends chosen by 12 flows`;
}

/** Which, by the name of the flow. */
async function staysWithOne(caller: Stream): Promise<ReadonlyMap<string, string>> {
  const window = await caller.settles(
    "every flow stays with one",
    (flow) => podsOf(flow).length === 1,
  );
  return backendsOf(window);
}

function backendsOf({ flows }: Tally): ReadonlyMap<string, string> {
  return new Map(flows.map((flow) => [nameOf(flow), podsOf(flow)[0]!]));
}
