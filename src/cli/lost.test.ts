// Who is lost, on a hub in memory and a virtual clock.

import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { LEASE, type Lease } from "../api/builtin.ts";
import { CLUSTER_MEMBER } from "../api/isthmus.ts";
import { HUB_NAMESPACE } from "../api/names.ts";
import { apiVersionOf, type Resource } from "../api/object.ts";
import { formatMicroTime } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { listLost } from "./lost.ts";

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

/** Members by name, and when their clocks say that they were last heard. */
function aHub(heard: ReadonlyMap<string, number>): Store {
  const members = [...heard.keys()].map((name) => ({
    apiVersion: apiVersionOf(CLUSTER_MEMBER),
    kind: CLUSTER_MEMBER.kind,
    metadata: { namespace: `isthmus-member-${name}`, name },
  }));
  const leases = (): Lease[] =>
    Array.from(heard, ([name, atMs]) => ({
      apiVersion: apiVersionOf(LEASE),
      kind: LEASE.kind,
      metadata: { namespace: HUB_NAMESPACE, name },
      spec: { renewTime: formatMicroTime(atMs) },
    }));
  const list = (resource: Resource) =>
    Promise.resolve({ items: resource.kind === LEASE.kind ? leases() : members });
  return { list } as unknown as Store;
}

test("a member that renews its Lease with a clock of last year is not lost; a silent one is", async () => {
  const clock = new VirtualClock();
  const longAgo = clock.now() - 24 * HOUR_MS;
  const heard = new Map([
    ["gone", longAgo],
    ["slow-clock", longAgo],
    ["well", clock.now()],
  ]);
  const told: string[] = [];
  clock.schedule(10_000, () => heard.set("slow-clock", longAgo + 10_000));
  const context = { clock, signal, error: (line: string) => told.push(line) };
  const lost = listLost(context, aHub(heard), HOUR_MS);
  await clock.advance(60_000);
  expect(await lost).toEqual(["gone"]);
  expect(told.join()).toMatch(/^Watching for 13 s whether gone and slow-clock are heard/);
});

test("where nobody looks lost, nobody is waited for", async () => {
  const clock = new VirtualClock();
  const context = { clock, signal, error: () => expect.unreachable() };
  expect(await listLost(context, aHub(new Map([["well", clock.now()]])), HOUR_MS)).toEqual([]);
});
