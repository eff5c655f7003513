// Story: the chart is upgraded on the hub and in every cluster while clients ask, and all go back. Not one request fails, and nothing
// that is stored is lost or written again. Then one cluster leaves and the chart is uninstalled there: what stays is named.

import { expect } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION, SERVICE } from "../../../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../../../src/api/crds.ts";
import { SERVICE_EXPORT } from "../../../src/api/mcs.ts";
import { eventually } from "../../scenarios/poll.ts";
import type { ChartEngine } from "../chart.ts";
import { addressesOf, isAnsweredBy, isFrom, over } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import { NEXT_FIELD } from "../releases.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";
import { listFinalizers, listStored } from "../stored.ts";
import type { Stream } from "../stream.ts";

const LEAVER = "edge";

export async function upgrade(shop: Shop, chart: ChartEngine): Promise<string> {
  await Promise.all([
    shop.offer("west", "web", { replicas: 2 }),
    shop.offer("edge", "web", { replicas: 1 }),
  ]);
  await shop.leadsTo("web", ["west", "edge"]);
  const target = `web.${shop.namespace}.svc.cluster.local`;
  const [east, west, home] = await Promise.all([
    shop.call("east", "web"),
    shop.call("west", "web"),
    shop.call(LEAVER, "web", { target }),
  ]);
  const vips = await shop.vips("east", "web");
  await east.settles("both answer", over(["tcp"], isFrom("edge", "west")));
  const before = await listQuiet(shop, east);

  await chart.upgrade("hub", "next");
  for (const id of MEMBERS) {
    await chart.upgrade(id, "next");
    await chart.runs(id, "next");
  }
  expect(await listQuiet(shop, east)).toEqual(before);
  await sayByNext(shop);

  const marked = await listQuiet(shop, east);
  expect(Object.keys(marked)).toEqual(Object.keys(before));
  await Promise.all(
    MEMBERS.map(async (id) => {
      await chart.rollBack(id);
      await chart.runs(id, "this");
    }),
  );
  await chart.upgrade("hub", "this");
  expect(await listQuiet(shop, east)).toEqual(marked);
  // An older chart leaves them as they are; only `helm rollback` puts all back that it had written.
  for (const { metadata } of HUB_CRDS) {
    const ref = { name: metadata.name ?? "" };
    const definition = await shop.bed.hub?.store.get(CUSTOM_RESOURCE_DEFINITION, ref);
    expect(JSON.stringify(definition?.spec)).toContain(NEXT_FIELD);
  }

  await shop.scale("west", "web", 3);
  await shop.leadsTo("web", ["west", "edge"]);
  const pods = await shop.podNames("west", "web");
  for (const stream of [east, west]) {
    await stream.sees(
      "every pod of west answers, the new one too",
      over(["tcp"], isAnsweredBy(pods)),
    );
  }
  expect(await shop.vips("east", "web")).toEqual(vips);
  await leaves(shop, chart);

  await home.settles("the Service at home answers as before", isFrom(LEAVER));
  await east.settles("the others go on", over(["tcp"], isFrom("west")));
  expect(addressesOf(east.windows, 4)).toEqual([vips[0]]);
  expect(addressesOf(east.windows, 6)).toEqual([vips[1]]);
  return "hub and three clusters upgraded, all put back, one uninstalled";
}

/** When nothing was written any more while a client asked for a while. */
function listQuiet(shop: Shop, client: Stream): Promise<Readonly<Record<string, string>>> {
  return eventually(
    "nobody writes any more",
    async () => {
      const stored = await listStored(shop);
      await client.settles("it is answered", () => true);
      expect(await listStored(shop)).toEqual(stored);
      return stored;
    },
    LIMIT_MS,
  );
}

/** On an export, what only the definitions of the next release let anybody say. Resolves when its agent has seen it. */
async function sayByNext(shop: Shop): Promise<void> {
  const path = `/apis/multicluster.x-k8s.io/v1beta1/namespaces/${shop.namespace}/serviceexports/web`;
  const { body } = await shop.store("west").request("PATCH", path, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { [NEXT_FIELD]: "a word" },
  });
  expect(body).toMatchObject({ [NEXT_FIELD]: "a word" });
  await eventually(
    "its conditions are about the export as it is now",
    async () => {
      const { metadata, status } = await shop.require("west", SERVICE_EXPORT, "web");
      const judged = status?.conditions?.map(({ observedGeneration }) => observedGeneration);
      expect(new Set(judged)).toEqual(new Set([metadata.generation]));
    },
    LIMIT_MS,
  );
}

async function leaves(shop: Shop, chart: ChartEngine): Promise<void> {
  const { store } = shop.cluster(LEAVER);
  const service = await shop.require(LEAVER, SERVICE, "web");
  const definitions = MEMBER_CRDS.map(({ metadata }) => metadata.name ?? "");
  const { left, uninstalled } = await chart.remove(LEAVER);
  expect(left).toContain("Its exports and CustomResourceDefinitions are still there.");
  for (const name of definitions) expect(uninstalled).toContain(name);

  expect(await listFinalizers(store)).toEqual([]);
  for (const name of definitions) {
    expect(await store.get(CUSTOM_RESOURCE_DEFINITION, { name })).toBeDefined();
  }
  await shop.require(LEAVER, SERVICE_EXPORT, "web");
  expect((await shop.require(LEAVER, SERVICE, "web")).spec).toEqual(service.spec);
  expect(await shop.serviceImport(LEAVER, "web")).toBeUndefined();
  expect(await shop.derived(LEAVER, "web")).toBeUndefined();
  expect(await shop.slices(LEAVER, "web")).toEqual([]);
}
