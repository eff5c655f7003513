// What the view says where traffic does not arrive though all looks well, and where something could not be read: never that
// it is well, and never that it is absent. On a virtual clock.

import { expect, onTestFinished, test } from "vitest";
import type { EndpointPort } from "../src/api/builtin.ts";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { viewStatus } from "../src/core/clusterset/health.ts";
import { CentralWorld } from "./centralWorld.ts";
import { at, mustExplain, observeCentral } from "./sightings.ts";

async function open(...ids: readonly string[]) {
  const world = await CentralWorld.open(...ids);
  onTestFinished(() => world.during(world.stop()));
  world.start();
  await world.pass(5);
  const [east, west] = world.sites;
  return { world, east: east!, west: west! };
}

/** The slice of web in east is written by hand, with these ports. */
async function withSlicePorts(ports: readonly EndpointPort[]) {
  const { world, east } = await open("east", "west");
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
