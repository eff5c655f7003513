// Story: a headless service of StatefulSets in west and edge. Each pod has a name of its own in the clusterset, which leads to
// that pod and no other, also after the pod was replaced; the service's name leads to all of them. Asked of CoreDNS and of
// `isthmus dns`, which runs as a pod behind a Service.

import { expect } from "vitest";
import { POD } from "../../../src/api/builtin.ts";
import { eventually } from "../../scenarios/poll.ts";
import { addressesOf, isAnsweredBy, over, podsOf } from "../measured.ts";
import type { MemberName } from "../plan.ts";
import { serveNames } from "../names.ts";
import { PORTS } from "../programs/ports.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";
import type { Stream } from "../stream.ts";
import type { CallerOptions } from "../traffic.ts";

const SOURCES = ["west", "edge"] as const satisfies readonly MemberName[];
const REPLICAS = 2;

interface NamedPod {
  readonly id: MemberName;
  readonly pod: string;
}
const ALL: readonly NamedPod[] = SOURCES.flatMap((id) =>
  ["web-0", "web-1"].map((pod) => ({ id, pod })),
);
const REPLACED = ALL[1]!;

export async function headless(shop: Shop): Promise<undefined> {
  const [ours] = await Promise.all([
    serveNames(shop, "east"),
    ...SOURCES.map(async (id) => {
      await shop.serveHeadless(id, "web", { replicas: REPLICAS });
      await shop.export(id, "web");
    }),
  ]);
  await shop.leadsTo("web", SOURCES);
  for (const id of ["east", ...SOURCES] as const) {
    // An import comes after its slices.
    await eventually(
      `web is headless in ${id}`,
      async () =>
        expect((await shop.serviceImport(id, "web"))?.spec).toMatchObject({ type: "Headless" }),
      LIMIT_MS,
    );
  }
  const resolvers = [{}, { dns: ours }] as const;
  const groups = await Promise.all(resolvers.map((resolver) => callEach(shop, resolver)));
  const all = over(["tcp"], isAnsweredBy(ALL.map(label)));
  await Promise.all(
    groups.flatMap(({ whole, each }) => [
      whole.sees("every pod answers", all),
      ...ALL.map((one) => leadsOnlyTo(shop, each.get(one)!, one)),
    ]),
  );

  const [before] = await addresses(shop, REPLACED);
  for (const { each } of groups) await each.get(REPLACED)!.ignore();
  await shop.delete(REPLACED.id, POD, REPLACED.pod);
  await shop.podsAreReady(REPLACED.id, "web", REPLICAS);
  await shop.leadsTo("web", SOURCES);
  expect((await addresses(shop, REPLACED))[0]).not.toBe(before);
  for (const { whole } of groups) await whole.mark();
  await Promise.all(
    groups.flatMap(({ whole, each }) => [
      whole.sees("every pod answers again", all),
      ...ALL.map((one) => leadsOnlyTo(shop, each.get(one)!, one)),
    ]),
  );
  await Promise.all(
    groups.map(async ({ each }) => {
      const caller = each.get(REPLACED)!;
      await caller.holdToAccount();
      await leadsOnlyTo(shop, caller, REPLACED);
    }),
  );
  return undefined;
}

/** Every request of a whole window went to that pod's address of today and was answered by it. */
async function leadsOnlyTo(shop: Shop, caller: Stream, target: NamedPod): Promise<void> {
  const window = await caller.settles(
    `${label(target)} answers alone`,
    (flow) => flow.failed === 0 && podsOf(flow).join() === label(target),
  );
  const [four, six] = await addresses(shop, target);
  expect(addressesOf([window], 4)).toEqual([four]);
  expect(addressesOf([window], 6)).toEqual([six]);
}

async function callEach(shop: Shop, resolver: Pick<CallerOptions, "dns">) {
  // There is no virtual IP that would translate ports: those of the pods.
  const options = { ...resolver, ports: PORTS, everyMs: 250 };
  const whole = await shop.call("east", "web", options);
  const each = new Map<NamedPod, Stream>();
  await Promise.all(
    ALL.map(async (one) => {
      const target = `${one.pod}.${one.id}.web.${shop.namespace}.svc.clusterset.local`;
      each.set(one, await shop.call("east", "web", { ...options, target }));
    }),
  );
  return { whole, each };
}

function label({ id, pod }: NamedPod): string {
  return `${id}/${pod}`;
}

async function addresses(shop: Shop, { id, pod }: NamedPod): Promise<readonly string[]> {
  const { status } = await shop.require(id, POD, pod);
  return (status?.podIPs ?? []).map(({ ip }) => ip);
}
