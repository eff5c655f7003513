// What the view says where traffic does not arrive though all looks well, and where something could not be read: never that
// it is well, and never that it is absent. On a virtual clock.

import { expect, test } from "vitest";
import type { EndpointPort } from "../src/api/builtin.ts";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { viewStatus } from "../src/core/clusterset/health.ts";
import type { Observation, SightedKind } from "../src/core/clusterset/sighting.ts";
import { KUBE_SERVICE_NAME_LABEL, SERVICE_NAME_LABEL } from "../src/api/names.ts";
import { anEndpoint, anImport, aSlice } from "./scenarios/objects.ts";
import { at, mustExplain, observeCentral, openCentral } from "./sightings.ts";

const AFFINE = { sessionAffinity: "ClientIP" as const };

/** The slice of web in east is written by hand, with these ports. */
async function withSlicePorts(ports: readonly EndpointPort[]) {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({ ...slice, ports }));
  await world.pass(5);
  return observeCentral(world);
}

test("a slice whose port has no name of the Service's is told wherever it costs the endpoints (R28)", async () => {
  const observation = await withSlicePorts([{ name: "", protocol: "TCP", port: 8080 }]);
  expect(mustExplain(observation).verdict).toBe("bad");
  expect(at(observation, "in west", "from east", "10.1.0.1")).toMatchObject({
    verdict: "bad",
    why: 'Its ports are left out: its slice names "" 8080/TCP, and the Service in east has http 80/TCP.',
    next: 'In east, name the ports of the EndpointSlice "web-ipv4" as the Service does.',
  });
  expect(viewStatus(observation)).toMatchObject({ well: false, services: { total: 1, well: 0 } });
});

test("a slice without ports gets no traffic by a virtual IP, and status knows it", async () => {
  const observation = await withSlicePorts([]);
  expect(at(observation, "in west", "from east", "10.1.0.1")).toMatchObject({
    verdict: "bad",
    inUse: false,
    why: "Its slice names no port, so nothing is sent to it.",
    next: "In east, give its EndpointSlice the ports of the Service, by the names that they have there.",
  });
  expect(mustExplain(observation).verdict).toBe("bad");
  expect(viewStatus(observation).well).toBe(false);
});

/** As if these kinds of one cluster could not be read. */
function without(
  { sightings, nowMs }: Observation,
  cluster: string,
  ...kinds: readonly SightedKind[]
): Observation {
  const nothing = Object.fromEntries(kinds.map((kind) => [kind, []]));
  return {
    nowMs,
    sightings: sightings.map((sighting) =>
      sighting.cluster === cluster ? { ...sighting, ...nothing, unread: kinds } : sighting,
    ),
  };
}

async function atRest() {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  return observeCentral(world);
}

test("endpoints of a source whose slices were not read are not said to be gone", async () => {
  const observation = without(await atRest(), "east", "slices");
  expect(at(observation, "in west", "from east", "10.1.0.1")).toMatchObject({
    verdict: "good",
    inUse: true,
  });
  expect(at(observation, "in west", "in step").verdict).toBe("unknown");
  expect(at(observation, "export in east")).toMatchObject({
    verdict: "good",
    why: expect.stringContaining("Its EndpointSlices could not be read."),
  });
  expect(viewStatus(observation).well).toBe(true);
});

test("an export whose Service was not read is not said to be bad", async () => {
  const observation = without(await atRest(), "east", "services");
  expect(at(observation, "export in east")).toMatchObject({
    verdict: "unknown",
    why: "It is exported, but the Service could not be read.",
  });
  expect(viewStatus(observation).well).toBe(true);
});

test("that a cluster imports nothing is no fault where its namespaces were not read", async () => {
  const { world, east } = await openCentral("east", "west");
  await world.createNamespace(east.site.store, "pay");
  await east.site.in("pay").offer("db", ["10.1.0.1"]);
  await world.pass(5);
  const observation = without(await observeCentral(world), "west", "namespaces");
  const explained = mustExplain(observation, "pay/db");
  expect(explained.verdict).toBe("good");
  expect(explained.parts.find(({ what }) => what === "in west")).toMatchObject({
    verdict: "unknown",
    why: 'There is no ServiceImport "db", and whether west has the namespace "pay" could not be read.',
  });
});

test("with central no hub is blamed for what could not be read", async () => {
  const step = at(without(await atRest(), "west", "slices"), "in west", "in step");
  expect(step).toMatchObject({ verdict: "unknown", next: expect.stringContaining("role view") });
  expect(step.why).not.toContain("hub");
});

test("a conflict does not hide that endpoints of those who disagree are cut off", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], AFFINE);
  await world.pass(5);
  await world.during(world.stop());
  for (const slice of await east.site.slices("web")) {
    const { [KUBE_SERVICE_NAME_LABEL]: _, ...labels } = slice.metadata.labels!;
    const metadata = { ...slice.metadata, labels };
    await east.site.store.replace(ENDPOINT_SLICE, { ...slice, metadata });
  }
  const { findings } = viewStatus(await observeCentral(world));
  const bad = findings.filter(({ verdict }) => verdict === "bad").map(({ what }) => what);
  expect(bad).toContain("export in west: SessionAffinityConflict");
  expect(bad).toContain("in east: from east");
  expect(bad).toContain("in east: from west");
});

test("the same sentence about two clusters is two findings, unless it is about one export", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", []);
  await west.site.offer("web", []);
  await world.pass(5);
  const { findings } = viewStatus(await observeCentral(world));
  expect(findings.map(({ what }) => what)).toEqual([
    "export in east: endpoints",
    "export in west: endpoints",
  ]);
});

test("an import that somebody made by hand, with slices that name no cluster, needs no export", async () => {
  const { world, west } = await openCentral("east", "west");
  await west.site.create(SERVICE_IMPORT, anImport("shop", "web"));
  await west.site.create(
    ENDPOINT_SLICE,
    aSlice("shop", "web-own", {
      endpoints: [anEndpoint("10.9.0.1")],
      labels: { [SERVICE_NAME_LABEL]: "web" },
    }),
  );
  await world.pass(5);
  const observation = await observeCentral(world);
  const explained = mustExplain(observation);
  expect(explained.verdict).toBe("good");
  expect(explained.parts.map(({ what }) => what)).not.toContain("exports");
  expect(at(observation, "in west", "from (unnamed)").why).toBe(
    "1 of 1 endpoint ready in 1 slice. They name no cluster.",
  );
  expect(viewStatus(observation)).toMatchObject({ well: true, services: { total: 1, well: 1 } });
});

test("one good endpoint behind a thousand that are not ready keeps the service usable", async () => {
  const { sightings, nowMs } = await atRest();
  const unready = { conditions: { ready: false, serving: false, terminating: false } };
  const many = Array.from({ length: 1_000 }, (_, index) =>
    anEndpoint(`10.1.${1 + Math.floor(index / 200)}.${index % 200}`, unready),
  );
  const crowded = sightings.map((sighting) => ({
    ...sighting,
    slices: sighting.slices.map((slice) => ({
      ...slice,
      endpoints: [...many, ...slice.endpoints],
    })),
  }));
  const observation = { sightings: crowded, nowMs };
  expect(at(observation, "in west").verdict).toBe("good");
  expect(at(observation, "in west", "from east").parts).toHaveLength(1_000);
});
