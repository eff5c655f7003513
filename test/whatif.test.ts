// What a dry run foresees, held against what the controllers then do: the same conflicts in the same words, the same
// endpoints in every cluster. On a virtual clock.

import { expect, test } from "vitest";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE, type ServiceSpec } from "../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceExport } from "../src/api/mcs.ts";
import { type ClusterId, KUBE_SERVICE_NAME_LABEL, type ServiceKey } from "../src/api/names.ts";
import type { Offer } from "../src/core/clusterset/amend.ts";
import type { Observation } from "../src/core/clusterset/sighting.ts";
import { viewClusterset } from "../src/core/clusterset/view.ts";
import { viewWhatIf, type WhatIfView } from "../src/core/clusterset/whatif.ts";
import type { Store } from "../src/ports/store.ts";
import { anEndpoint, anExport, HEADLESS } from "./scenarios/objects.ts";
import type { Site } from "./scenarios/site.ts";
import { observeAgents, observeCentral, openAgents, openCentral } from "./sightings.ts";

const WEB = "shop/web" as ServiceKey;
const UNREADY = { conditions: { ready: false, serving: false, terminating: false } };
const PORT_8000: ServiceSpec = {
  ports: [{ name: "http", protocol: "TCP", port: 8000, targetPort: 8080 }],
};
const TWO_PORTS: ServiceSpec = {
  ports: [
    { name: "http", protocol: "TCP", port: 80, targetPort: 8080 },
    { name: "admin", protocol: "TCP", port: 81, targetPort: 8081 },
  ],
};

/** As the API server would have the export of it. */
async function offerOf(store: Store, spec?: ServiceExport["spec"]): Promise<Offer> {
  const ref = { namespace: "shop", name: "web" };
  const { items } = await store.list(ENDPOINT_SLICE, {
    namespace: "shop",
    labelSelector: `${KUBE_SERVICE_NAME_LABEL}=web`,
  });
  return {
    serviceExport: await store.create(SERVICE_EXPORT, anExport("shop", "web", spec), {
      dryRun: true,
    }),
    service: await store.get(SERVICE, ref),
    slices: items,
  };
}

async function foreseeExport(
  observation: Observation,
  site: Site,
  spec?: ServiceExport["spec"],
): Promise<WhatIfView> {
  const offer = await offerOf(site.store, spec);
  return viewWhatIf(observation, { cluster: site.id as ClusterId, service: WEB, offer });
}

function foreseeUnexport(observation: Observation, site: Site): WhatIfView {
  return viewWhatIf(observation, {
    cluster: site.id as ClusterId,
    service: WEB,
    offer: undefined,
  });
}

function changesIn(view: WhatIfView, cluster: string): readonly string[] {
  return view.clusters.find((one) => one.cluster === cluster)!.changes;
}

/** What came true: conflicts as the merge has them, endpoints as the imports have them. */
function expectForeseen(view: WhatIfView, observation: Observation): void {
  const found = viewClusterset(observation).services.find(({ service }) => service === WEB);
  const there = view.conflicts.filter(({ change }) => change !== "ends");
  expect(there.map(({ reason, message }) => ({ reason, message }))).toEqual(found?.conflicts ?? []);
  expect(view.after?.type).toBe(found?.type);
  expect(view.after?.ports ?? []).toEqual(found?.ports ?? []);
  for (const row of found?.imports ?? []) {
    const foreseen = view.clusters.find(({ cluster }) => cluster === row.cluster)!;
    expect(
      foreseen.sources
        .filter(({ after }) => after.endpoints > 0)
        .map(({ cluster, after }) => ({ cluster, ...after })),
    ).toEqual(
      row.sources
        .filter(({ endpoints }) => endpoints > 0)
        .map(({ cluster, endpoints, ready }) => ({ cluster, endpoints, ready })),
    );
  }
}

test("the first export of a service: the name begins to resolve everywhere, and nobody disagrees", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.serve("web", ["10.1.0.1", anEndpoint("10.1.0.2", UNREADY)]);
  const view = await foreseeExport(await observeCentral(world), east.site);
  expect(view).toMatchObject({
    namespace: "shop",
    name: "web",
    cluster: "east",
    change: "export",
    after: { type: "ClusterSetIP", clusters: ["east"], oldest: "east" },
    conflicts: [],
    unknown: [],
  });
  expect(view.before).toBeUndefined();
  for (const cluster of ["east", "west"]) {
    expect(changesIn(view, cluster)).toEqual([
      "the name begins to resolve: ClusterSetIP, http 80/TCP",
      "2 endpoints of east come, 1 of them ready",
    ]);
  }
  await east.site.export("web");
  await world.pass(5);
  expectForeseen(view, await observeCentral(world));
});

test("an export with another port: the conflict is told in the words of the condition, and who wins (R20, R26, R43)", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.serve("web", ["10.2.0.1"], PORT_8000);
  const view = await foreseeExport(await observeCentral(world), west.site);
  expect(view.conflicts).toMatchObject([
    { change: "begins", reason: "PortConflict", winner: "east" },
  ]);
  // West's port lost, so that its endpoints are of no use to anybody (R28).
  expect(view.clusters[0]).toMatchObject({
    cluster: "east",
    changes: [],
    leftOut:
      "Nothing of it: none of the ports and IP families of west are those of the merged service.",
  });
  await west.site.export("web");
  await world.pass(5);
  const exported = await west.site.require(SERVICE_EXPORT, "web");
  const condition = exported.status?.conditions?.find(({ type }) => type === "Conflict");
  expect(condition?.message).toBe(view.conflicts[0]!.message);
  expectForeseen(view, await observeCentral(world));
});

test("a conflict with who cannot be asked stays, by the condition of the export that is there", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], PORT_8000);
  await world.pass(5);
  const serviceExport = await east.site.require(SERVICE_EXPORT, "web");
  const service = await east.site.require(SERVICE, "web");
  const { conflicts } = viewWhatIf(await observeCentral(world, { only: ["east"] }), {
    cluster: east.site.id as ClusterId,
    service: WEB,
    offer: { serviceExport, service, slices: [] },
  });
  const written = (await east.site.exportConditions("web"))["Conflict"]!;
  expect(conflicts).toEqual([
    { change: "stays", reason: "PortConflict", message: written.message },
  ]);
});

test("every conflict is told, not the first: type, ports and labels at once (R45)", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.serve("web", ["10.2.0.1"], { ...HEADLESS, ...TWO_PORTS });
  const labels = { exportedLabels: { tier: "gold" } };
  const view = await foreseeExport(await observeCentral(world), west.site, labels);
  expect(view.conflicts.map(({ reason, change }) => `${reason} ${change}`)).toEqual([
    "PortConflict begins",
    "TypeConflict begins",
    "LabelsConflict begins",
  ]);
  expect(changesIn(view, "east")).toEqual([
    "port admin 81/TCP comes",
    "1 endpoint of west comes, ready",
  ]);
  await west.site.export("web", labels);
  await world.pass(5);
  expectForeseen(view, await observeCentral(world));
});

test("a third export that disagrees, too, changes a conflict that is there already", async () => {
  const { world, east, west, edge } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], PORT_8000);
  await edge.site.serve("web", ["10.3.0.1"], PORT_8000);
  await world.pass(5);
  const view = await foreseeExport(await observeCentral(world), edge.site);
  expect(view.conflicts).toMatchObject([{ change: "changes", winner: "east" }]);
  expect(view.conflicts[0]!.message).toContain("2/3 clusters disagree");
});

test("taking the winner away ends the conflict, and the ports and endpoints that lost come back", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], PORT_8000);
  await world.pass(5);
  const view = foreseeUnexport(await observeCentral(world), east.site);
  expect(view.conflicts).toMatchObject([{ change: "ends", winner: "east" }]);
  expect(changesIn(view, "west")).toEqual([
    "port http 80/TCP goes",
    "port http 8000/TCP comes",
    "1 endpoint of east goes",
    "1 endpoint of west comes, ready",
  ]);
  await east.site.unexport("web");
  await world.pass(5);
  expectForeseen(view, await observeCentral(world));
});

test("taking the last export away: the name ceases to resolve", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  const view = foreseeUnexport(await observeCentral(world), east.site);
  expect(view.after).toBeUndefined();
  expect(changesIn(view, "west")).toEqual([
    "the name ceases to resolve, and its virtual IP goes",
    "1 endpoint of east goes",
  ]);
  await east.site.unexport("web");
  await world.pass(5);
  expect(await world.sites[1]!.site.get(SERVICE_IMPORT, "web")).toBeUndefined();
});

test("where the namespace is missing nobody notices anything", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.serve("web", ["10.1.0.1"]);
  const observation = await observeCentral(world);
  await west.site.store.delete(NAMESPACE, { name: "shop" });
  await world.pass(5);
  const view = await foreseeExport(await observeCentral(world), east.site);
  expect((await foreseeExport(observation, east.site)).clusters[1]!.changes).toHaveLength(2);
  expect(view.clusters[1]).toMatchObject({ inNamespace: "missing", changes: [] });
});

test("seen from one cluster of central, the others are taken to say what the import says", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.serve("web", ["10.2.0.1"], PORT_8000);
  await world.pass(5);
  const observation = await observeCentral(world, { only: ["west"] });
  const view = await foreseeExport(observation, west.site);
  expect(view.unknown).toEqual(["east"]);
  expect(view.before).toMatchObject({ clusters: ["east"], ports: [{ port: 80 }] });
  expect(view.conflicts).toMatchObject([
    { change: "begins", reason: "PortConflict", winner: "east" },
  ]);
  expect(view.clusters.map(({ cluster }) => cluster)).toEqual(["west"]);
  await west.site.export("web");
  await world.pass(5);
  const exported = await west.site.require(SERVICE_EXPORT, "web");
  const condition = exported.status?.conditions?.find(({ type }) => type === "Conflict");
  expect(condition?.message).toBe(view.conflicts[0]!.message);
  // And away again: east's is still there.
  const again = foreseeUnexport(await observeCentral(world, { only: ["west"] }), west.site);
  expect(again.after).toMatchObject({ clusters: ["east"] });
});

test("on a hub one cluster is enough to foresee what all of them would see", async () => {
  const { world, east, west } = await openAgents("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.serve("web", ["10.2.0.1"], TWO_PORTS);
  await world.pass(10);
  for (const only of [["west"], ["west", "east"]]) {
    const view = await foreseeExport(await observeAgents(world, { only }), west.site);
    expect(view.unknown).toEqual([]);
    expect(view.conflicts).toMatchObject([{ change: "begins", winner: "east" }]);
    expect(changesIn(view, "east")).toEqual([
      "port admin 81/TCP comes",
      "1 endpoint of west comes, ready",
    ]);
  }
  const view = await foreseeExport(await observeAgents(world), west.site);
  await west.site.export("web");
  await world.pass(10);
  expectForeseen(view, await observeAgents(world));
  const back = foreseeUnexport(await observeAgents(world, { only: ["west"] }), west.site);
  expect(back.conflicts).toMatchObject([{ change: "ends" }]);
  expect(changesIn(back, "east")).toEqual(["port admin 81/TCP goes", "1 endpoint of west goes"]);
});

test("endpoints outside of what is declared of the cluster would be left out, and it is said", async () => {
  const { world, east } = await openAgents("east", "west");
  await east.site.serve("web", ["10.1.0.1", "192.168.7.7"]);
  const view = await foreseeExport(await observeAgents(world), east.site);
  const inWest = view.clusters.find(({ cluster }) => cluster === "west")!;
  expect(inWest.sources).toEqual([
    {
      cluster: "east",
      before: { endpoints: 0, ready: 0 },
      after: { endpoints: 1, ready: 1 },
    },
  ]);
  expect(inWest.leftOut).toContain("192.168.7.7");
  await east.site.export("web");
  await world.pass(10);
  expectForeseen(view, await observeAgents(world));
});
