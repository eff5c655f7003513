// Story: a service that prefers what is close. Asked from zone-a it is answered in zone-a, although another zone has it too, and
// one ready pod there is enough; when no pod there is ready the other zone answers, and no longer than that.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Endpoint, NODE, POD } from "../../../src/api/builtin.ts";
import { ZONE_LABEL } from "../../../src/core/topology.ts";
import { eventually } from "../../scenarios/poll.ts";
import { READY_ANNOTATION } from "../kubelet.ts";
import { answerersOf, isFrom, type IsRight, over, podsOf } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";

const CLOSE = { replicas: 2, spec: { trafficDistribution: "PreferClose" } } as const;

export async function zones(shop: Shop): Promise<undefined> {
  try {
    await staysInZone(shop);
  } catch (error) {
    const known = await describeZones(shop).catch(String);
    throw new Error(`${(error as Error).message}\n${known}`, { cause: error });
  }
  return undefined;
}

async function staysInZone(shop: Shop): Promise<void> {
  // East and west are in zone-a, edge is in zone-b.
  await Promise.all([shop.offer("west", "web", CLOSE), shop.offer("edge", "web", CLOSE)]);
  await shop.leadsTo("web", ["west", "edge"]);
  await eventually(
    "every endpoint is for the zone that it is in",
    async () => expect(await hintsIn(shop)).toEqual({ west: ["zone-a"], edge: ["zone-b"] }),
    LIMIT_MS,
  );
  // A UDP flow and an open connection stay where they went first: they begin when kube-proxy knows all that.
  const scout = await shop.call("east", "web", { protocols: ["tcp"] });
  await scout.settles("zone-a answers new connections", isFrom("west"));
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
}

/** By source, as east has them: kube-proxy goes by hints only when every endpoint has one. */
async function hintsIn(shop: Shop): Promise<Readonly<Record<string, readonly string[]>>> {
  const hints = async (source: "west" | "edge"): Promise<readonly string[]> => {
    const slices = await shop.slices("east", "web", source);
    const endpoints = slices.flatMap((slice) => slice.endpoints);
    return [...new Set(endpoints.map((endpoint) => hintOf(endpoint)))];
  };
  return { west: await hints("west"), edge: await hints("edge") };
}

function hintOf({ hints }: Endpoint): string {
  return (hints?.forZones ?? []).map(({ name }) => name).join() || "none";
}

/** What decides about zones: the nodes' own, what was made of them, and why kube-proxy of east did not go by it. */
async function describeZones(shop: Shop): Promise<string> {
  const nodes = await Promise.all(
    MEMBERS.map(async (id) => {
      const node = await shop.store(id).get(NODE, { name: shop.cluster(id).plan.name });
      return `node of ${id} in ${node?.metadata.labels?.[ZONE_LABEL] ?? "no zone"}`;
    }),
  );
  const slices = (await shop.slices("east", "web")).flatMap(({ metadata, endpoints }) =>
    endpoints.map((endpoint) => {
      const { addresses, zone = "none", conditions } = endpoint;
      const state = conditions?.ready === false ? "not ready" : "ready";
      return `${metadata.name}: ${addresses.join()} ${state}, zone ${zone}, for ${hintOf(endpoint)}`;
    }),
  );
  const { logsPath } = shop.cluster("east").control;
  const said = readFileSync(join(logsPath, "kube-proxy.log"), "utf8").split("\n");
  const ignored = said.filter((line) => line.includes("Ignoring"));
  return [...nodes, ...slices, "kube-proxy of east:", ...ignored.slice(-4)].join("\n");
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
