// Story: the chart is upgraded in every cluster while clients ask, rolled back, and upgraded on the hub. Not one request fails, and
// nothing that is stored is lost or written again. Then one cluster leaves and the chart is uninstalled there: what stays is named.

import { expect } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION, SERVICE } from "../../../src/api/builtin.ts";
import { MEMBER_CRDS } from "../../../src/api/crds.ts";
import { SERVICE_EXPORT } from "../../../src/api/mcs.ts";
import type { ChartEngine } from "../chart.ts";
import { addressesOf, isAnsweredBy, isFrom, over } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import { NEXT_FIELD } from "../releases.ts";
import type { Shop } from "../shop.ts";
import { listFinalizers, listStored } from "../stored.ts";

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
  const before = await listStored(shop);

  for (const id of MEMBERS) {
    await chart.upgrade(id, "next");
    await chart.runs(id, "next");
  }
  expect(await listStored(shop)).toEqual(before);
  expect(await sayByNext(shop)).toBe("a word");

  const marked = await listStored(shop);
  expect(Object.keys(marked)).toEqual(Object.keys(before));
  await Promise.all(
    MEMBERS.map(async (id) => {
      await chart.rollBack(id);
      await chart.runs(id, "this");
    }),
  );
  await chart.upgrade("hub", "next");
  expect(await listStored(shop)).toEqual(marked);

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
  return "three clusters and the hub upgraded, three rolled back, one uninstalled";
}

/** What only the definitions of the next release let anybody say. */
async function sayByNext(shop: Shop): Promise<unknown> {
  const path = `/apis/multicluster.x-k8s.io/v1beta1/namespaces/${shop.namespace}/serviceexports/web`;
  const { body } = await shop.store("west").request("PATCH", path, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { [NEXT_FIELD]: "a word" },
  });
  return (body as Readonly<Record<string, unknown>>)[NEXT_FIELD];
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
