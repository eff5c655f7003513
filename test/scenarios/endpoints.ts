// Scenarios: endpoints on their way from a Service's backends to the other clusters, and the families they speak.

import { expect } from "vitest";
import { ENDPOINT_SLICE, NODE, POD, SERVICE, type Service } from "../../src/api/builtin.ts";
import { unique } from "../contract/objects.ts";
import { anEndpoint, aPod, aSlice, HEADLESS } from "./objects.ts";
import { expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";

/** As a kubelet would, on a node that the caller made. */
async function runPod(site: Site, namespace: string, pod: PodSketch): Promise<void> {
  const sketch = aPod(namespace, pod.name);
  const created = await eventually(`${site.id} takes the Pod ${pod.name}`, () =>
    // Refused until the namespace has its service account.
    site.store.create(POD, { ...sketch, spec: { ...sketch.spec!, nodeName: pod.node } }),
  );
  await site.store.replace(
    POD,
    {
      ...created,
      status: {
        phase: "Running",
        podIP: pod.ip,
        podIPs: [{ ip: pod.ip }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
    { subresource: "status" },
  );
}

/** As a kubelet does when the containers have ended. */
async function endPod(
  site: Site,
  ref: { readonly namespace: string; readonly name: string },
): Promise<void> {
  await eventually(`${site.id} takes the last status of ${ref.name}`, async () => {
    const pod = await site.store.get(POD, ref);
    const ended = { ...pod!, status: { ...pod!.status, phase: "Succeeded" } };
    await site.store.replace(POD, ended, { subresource: "status" });
  });
  await site.store.delete(POD, ref);
}

interface PodSketch {
  readonly name: string;
  readonly node: string;
  readonly ip: string;
}

/** As the core controller fills them: to a hundred. */
const SHARDS = [100, 100, 50];

export function endpointScenarios(scenario: DefineScenario): void {
  scenario(
    "a service that scales up and down does so in every cluster (R49 R54)",
    async (world) => {
      const [east] = world.sites;
      const { namespace } = world;
      const node = unique("node-");
      await east.store.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: node } });
      try {
        await east.offer("web", [], { selector: { app: "web" } });
        world.start();
        await world.everywhere("the import is there and leads nowhere", (site) =>
          expectUsable(site, "web", []),
        );
        await runPod(east, namespace, { name: "web-0", node, ip: "10.1.0.1" });
        await usableEverywhere(world, "web", ["10.1.0.1"]);
        await runPod(east, namespace, { name: "web-1", node, ip: "10.1.0.2" });
        await runPod(east, namespace, { name: "web-2", node, ip: "10.1.0.3" });
        await usableEverywhere(world, "web", ["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
        const readServices = () =>
          Promise.all(world.sites.map((site) => site.versions(SERVICE, () => true)));
        const before = await readServices();
        await east.store.delete(POD, { namespace, name: "web-0" });
        await world.everywhere("an endpoint that ends is not ready", async (site) => {
          const endpoints = (await site.slices("web")).flatMap((slice) => slice.endpoints);
          expect(endpoints.find(({ addresses }) => addresses[0] === "10.1.0.1")).toMatchObject({
            conditions: { ready: false, serving: true, terminating: true },
          });
        });
        for (const name of ["web-0", "web-1", "web-2"]) await endPod(east, { namespace, name });
        await world.everywhere("no slice is left that leads somewhere", async (site) => {
          expect(await site.addresses("web", { all: true })).toEqual([]);
          await expectUsable(site, "web", []);
        });
        // Endpoints come and go; what clients hold on to does not.
        expect(await readServices()).toEqual(before);
      } finally {
        await east.store.delete(NODE, { name: node });
      }
    },
    { controllers: true },
  );

  scenario(
    "one of 250 endpoints changes: one slice is written in each cluster (R53)",
    async (world) => {
      const [east] = world.sites;
      const { namespace } = world;
      await east.serve("web");
      for (const [shard, size] of SHARDS.entries()) {
        const endpoints = Array.from({ length: size }, (_, index) =>
          anEndpoint(`10.1.${shard}.${index + 1}`),
        );
        await east.create(
          ENDPOINT_SLICE,
          aSlice(namespace, `web-${shard}`, { service: "web", endpoints }),
        );
      }
      await east.export("web");
      world.start();
      await world.everywhere("all endpoints have arrived", async (site) => {
        expect(await site.addresses("web")).toHaveLength(250);
        const sizes = (await site.slices("web")).map((slice) => slice.endpoints.length);
        expect(sizes.toSorted((a, b) => b - a)).toEqual(SHARDS);
      });
      await world.settle();
      world.forgetWrites();
      await east.edit(ENDPOINT_SLICE, "web-1", (slice) => ({
        ...slice,
        endpoints: slice.endpoints.with(7, anEndpoint("10.1.99.1")),
      }));
      await world.everywhere("the change has arrived", async (site) => {
        expect(await site.addresses("web")).toContain("10.1.99.1");
      });
      await world.settle();
      const expected = world.sites.map(({ id }) =>
        expect.stringMatching(`^${id}: apply endpointslices web-${east.id}-`),
      );
      const shared =
        world.mode === "agents" ? [expect.stringContaining("replace endpointshares")] : [];
      expect(world.writes()).toEqual([...expected, ...shared]);
    },
  );

  scenario(
    "a headless service keeps its hostnames and never gets an address (R41 R49 R58 R72)",
    async (world) => {
      const [east, west] = world.sites;
      await east.offer("db", [anEndpoint("10.1.0.1", { hostname: "db-0" })], HEADLESS);
      await west.offer("db", [anEndpoint("10.2.0.1", { hostname: "db-0" })], HEADLESS);
      world.start();
      await usableEverywhere(world, "db", ["10.1.0.1", "10.2.0.1"]);
      for (const site of world.sites) {
        const { spec: imported, metadata } = await site.serviceImport("db");
        expect(imported).toMatchObject({ type: "Headless", ipFamilies: ["IPv4"] });
        expect(imported).not.toHaveProperty("ips");
        expect(metadata.annotations ?? {}).not.toHaveProperty(
          "multicluster.kubernetes.io/derived-service",
        );
        expect(await site.get(SERVICE, site.derivedName("db"))).toBeUndefined();
        for (const [index, source] of [east, west].entries()) {
          const [slice, ...others] = await site.slices("db", source.id);
          expect(others).toEqual([]);
          expect(slice?.endpoints).toMatchObject([
            { addresses: [`10.${index + 1}.0.1`], hostname: "db-0" },
          ]);
          expect(slice?.metadata.labels).not.toHaveProperty("kubernetes.io/service-name");
        }
      }
    },
  );

  scenario(
    "a dual-stack service has two addresses and two slices, in its order (R49 R59)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web", ["10.1.0.1", "fd00:1::1"], {
        ipFamilyPolicy: "RequireDualStack",
        ipFamilies: ["IPv6", "IPv4"],
      });
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1", "fd00:1::1"]);
      for (const site of world.sites) {
        const { spec } = await site.serviceImport("web");
        const derived = await site.derived("web");
        expect(spec?.ipFamilies).toEqual(["IPv6", "IPv4"]);
        expect(spec?.ips?.map((ip) => ip.includes(":"))).toEqual([true, false]);
        expect(spec?.ips?.every((ip) => site.hasServiceIp(ip))).toBe(true);
        expect(derived.spec).toMatchObject({ clusterIPs: spec?.ips, ipFamilies: spec?.ipFamilies });
        const slices = await site.slices("web");
        expect(slices.map(({ addressType }) => addressType)).toEqual(["IPv4", "IPv6"]);
      }
    },
  );

  scenario(
    "a service that becomes dual stack keeps its first address (R37 R57 R59)",
    async (world) => {
      const [east] = world.sites;
      await east.offer("web", ["10.1.0.1", "fd00:1::1"]);
      world.start();
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      const before = await Promise.all(world.sites.map((site) => readVip(site, "web")));
      await east.edit(
        SERVICE,
        "web",
        (service): Service => ({
          ...service,
          spec: {
            ...service.spec,
            ipFamilyPolicy: "RequireDualStack",
            ipFamilies: ["IPv4", "IPv6"],
          },
        }),
      );
      await usableEverywhere(world, "web", ["10.1.0.1", "fd00:1::1"]);
      const after = await world.everywhere("it has two addresses", async (site) => {
        const ips = await readVip(site, "web");
        expect(ips).toHaveLength(2);
        return ips;
      });
      expect(after.map(([first]) => first)).toEqual(before.map(([first]) => first));
    },
  );

  scenario(
    "a cluster that does not speak the service's family says so, the others use it (R18)",
    async (world) => {
      const [east] = world.sites;
      const single = world.sites.at(-1)!;
      await east.offer("web", ["fd00:1::1"], {
        ipFamilyPolicy: "SingleStack",
        ipFamilies: ["IPv6"],
      });
      world.start();
      await eventually("the cluster without IPv6 says so", async () => {
        const { Ready } = await single.importConditions("web");
        expect(Ready).toMatchObject({ status: "False", reason: "IPFamilyNotSupported" });
        expect(Ready?.message).toContain("IPv6");
      });
      const { spec } = await single.serviceImport("web");
      expect(spec).not.toHaveProperty("ips");
      expect(spec?.ipFamilies).toEqual(["IPv6"]);
      expect(await single.get(SERVICE, single.derivedName("web"))).toBeUndefined();
      for (const site of world.sites.slice(0, -1)) {
        await eventually(`${site.id} uses it`, () => expectUsable(site, "web", ["fd00:1::1"]));
      }
    },
    { singleStack: true },
  );

  scenario(
    "a cluster with one family imports a dual-stack service over the one it has (R42)",
    async (world) => {
      const [east] = world.sites;
      const single = world.sites.at(-1)!;
      await east.offer("web", ["10.1.0.1", "fd00:1::1"], {
        ipFamilyPolicy: "RequireDualStack",
        ipFamilies: ["IPv6", "IPv4"],
      });
      world.start();
      await eventually("it leads to the IPv4 endpoints", () =>
        expectUsable(single, "web", ["10.1.0.1"]),
      );
      expect((await single.serviceImport("web")).spec?.ipFamilies).toEqual(["IPv4"]);
      expect(await readVip(single, "web")).toHaveLength(1);
    },
    { singleStack: true },
  );
}
