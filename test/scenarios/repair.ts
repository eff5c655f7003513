// Scenarios: people change or delete by hand what is ours. It comes back, and clients notice nothing.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE, type Service } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../../src/api/mcs.ts";
import type { ObjectMeta } from "../../src/api/object.ts";
import { anEndpoint } from "./objects.ts";
import { expectUsable, readVip, usableEverywhere } from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { DefineScenario } from "./suite.ts";
import type { World } from "./world.ts";

/** One exported service, in use everywhere; changes are made in the second cluster. */
async function begin(world: World): Promise<Site> {
  const [east, west] = world.sites;
  await east.offer("web", ["10.1.0.1", "10.1.0.2"]);
  world.start();
  await usableEverywhere(world, "web", ["10.1.0.1", "10.1.0.2"]);
  await world.settle();
  return west;
}

/** Nothing is still trying: whoever fights over a field never rests. */
async function expectPeace(world: World): Promise<void> {
  await world.settle();
  world.forgetWrites();
  const [east] = world.sites;
  await east.offer("unrelated", ["10.1.0.9"]);
  await usableEverywhere(world, "unrelated", ["10.1.0.9"]);
  await world.settle();
  expect(world.writes().filter((text) => !/unrelated|derived-/.test(text))).toEqual([]);
}

function withMetadata<T extends { readonly metadata: ObjectMeta }>(
  object: T,
  change: (metadata: ObjectMeta) => ObjectMeta,
): T {
  return { ...object, metadata: change(object.metadata) };
}

export function repairScenarios(scenario: DefineScenario): void {
  scenario("hand edits of an import are reverted (R19)", async (world) => {
    const west = await begin(world);
    const before = await west.serviceImport("web");
    const edits: readonly ((object: ServiceImport) => ServiceImport)[] = [
      ({ spec, ...object }) => ({ ...object, spec: { ...spec!, ports: [] } }),
      ({ spec, ...object }) => ({ ...object, spec: { ...spec!, ips: ["192.0.2.1"] } }),
      ({ spec, ...object }) => ({ ...object, spec: { ...spec!, type: "Headless" } }),
      ({ spec, ...object }) => ({
        ...object,
        spec: { ...spec!, trafficDistribution: "PreferClose" },
      }),
      (object) =>
        withMetadata(object, (metadata) => ({ ...metadata, labels: {}, annotations: {} })),
    ];
    for (const edit of edits) {
      await west.edit(SERVICE_IMPORT, "web", edit);
      await eventually("the edit is reverted", async () => {
        const after = await west.serviceImport("web");
        expect(after.spec).toEqual(before.spec);
        expect(after.metadata.labels).toEqual(before.metadata.labels);
        expect(after.metadata.annotations).toEqual(before.metadata.annotations);
        expect(after.metadata.uid).toBe(before.metadata.uid);
      });
    }
    await expectPeace(world);
  });

  scenario("hand edits of an import's status are reverted (R8 R19)", async (world) => {
    const west = await begin(world);
    const before = await west.serviceImport("web");
    await eventually("the edit is taken", async () => {
      const object = await west.serviceImport("web");
      await west.store.replace(
        SERVICE_IMPORT,
        { ...object, status: { clusters: [{ cluster: "nowhere" }] } },
        { subresource: "status" },
      );
    });
    await eventually("the status is right again", async () => {
      const { status } = await west.serviceImport("web");
      expect(status?.clusters).toEqual(before.status?.clusters);
      expect(status?.endpointSliceObjects).toBe("Present");
      expect(status?.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
    });
    await expectPeace(world);
  });

  scenario(
    "hand edits of a derived Service are reverted, its address stays (R19 R57)",
    async (world) => {
      const west = await begin(world);
      const before = await west.derived("web");
      const edits: readonly ((object: Service) => Service)[] = [
        ({ spec, ...object }) => ({
          ...object,
          spec: { ...spec, ports: [...spec!.ports!, { name: "more", port: 81, protocol: "TCP" }] },
        }),
        ({ spec, ...object }) => ({ ...object, spec: { ...spec, selector: { app: "web" } } }),
        ({ spec, ...object }) => ({ ...object, spec: { ...spec, internalTrafficPolicy: "Local" } }),
        ({ spec, ...object }) => ({
          ...object,
          spec: { ...spec, trafficDistribution: "PreferClose" },
        }),
        (object) => withMetadata(object, (metadata) => ({ ...metadata, ownerReferences: [] })),
      ];
      for (const edit of edits) {
        await west.edit(SERVICE, west.derivedName("web"), edit);
        await eventually("the edit is reverted", async () => {
          const after = await west.derived("web");
          expect(after.spec).toEqual(before.spec);
          expect(after.metadata.labels).toEqual(before.metadata.labels);
          expect(after.metadata.ownerReferences).toEqual(before.metadata.ownerReferences);
          expect(after.metadata.uid).toBe(before.metadata.uid);
        });
      }
      await expectPeace(world);
    },
  );

  scenario("hand edits of imported slices are reverted (R19 R48 R51)", async (world) => {
    const west = await begin(world);
    const [before] = await west.slices("web");
    const name = before!.metadata.name!;
    const relabel = (labels: Readonly<Record<string, string>>) => (metadata: ObjectMeta) => ({
      ...metadata,
      labels: { ...metadata.labels, ...labels },
    });
    const edits: readonly ((object: NonNullable<typeof before>) => NonNullable<typeof before>)[] = [
      (slice) => ({ ...slice, endpoints: [anEndpoint("192.0.2.1")] }),
      (slice) => ({ ...slice, ports: [] }),
      (slice) => withMetadata(slice, relabel({ "kubernetes.io/service-name": "web" })),
      (slice) =>
        withMetadata(slice, relabel({ "multicluster.kubernetes.io/source-cluster": "nowhere" })),
      (slice) => withMetadata(slice, (metadata) => ({ ...metadata, labels: {} })),
    ];
    for (const edit of edits) {
      await west.edit(ENDPOINT_SLICE, name, edit);
      await eventually("the edit is reverted", async () => {
        const after = await west.require(ENDPOINT_SLICE, name);
        expect(after.endpoints).toEqual(before!.endpoints);
        expect(after.ports).toEqual(before!.ports);
        expect(after.metadata.labels).toEqual(before!.metadata.labels);
      });
    }
    await expectPeace(world);
  });

  scenario("a derived Service deleted by hand comes back with its address (R57)", async (world) => {
    const west = await begin(world);
    const before = await readVip(west, "web");
    const { metadata } = await west.derived("web");
    await west.delete(SERVICE, west.derivedName("web"));
    await eventually("it is back", async () => {
      const derived = await west.derived("web");
      expect(derived.metadata.uid).not.toBe(metadata.uid);
      expect(derived.spec?.clusterIPs).toEqual(before);
      await expectUsable(west, "web", ["10.1.0.1", "10.1.0.2"]);
    });
    expect(await readVip(west, "web")).toEqual(before);
  });

  scenario("an import deleted by hand comes back with its address (R13 R57)", async (world) => {
    const west = await begin(world);
    const before = await west.serviceImport("web");
    await west.delete(SERVICE_IMPORT, "web");
    await eventually("it is back, and its Service with it", async () => {
      const after = await west.serviceImport("web");
      expect(after.metadata.uid).not.toBe(before.metadata.uid);
      expect((await west.derived("web")).metadata.ownerReferences).toMatchObject([
        { uid: after.metadata.uid },
      ]);
      expect(after.spec).toEqual(before.spec);
      await expectUsable(west, "web", ["10.1.0.1", "10.1.0.2"]);
    });
    await world.settle();
    expect((await west.derived("web")).spec?.clusterIPs).toEqual(before.spec?.ips);
  });

  scenario(
    "an import and its Service deleted together come back with the address (R13 R57)",
    async (world) => {
      const west = await begin(world);
      const before = await readVip(west, "web");
      await Promise.all([
        west.delete(SERVICE, west.derivedName("web")),
        west.delete(SERVICE_IMPORT, "web"),
      ]);
      await eventually("they are back", async () => {
        await expectUsable(west, "web", ["10.1.0.1", "10.1.0.2"]);
        expect(await readVip(west, "web")).toEqual(before);
        expect((await west.derived("web")).spec?.clusterIPs).toEqual(before);
      });
    },
  );

  scenario("imported slices deleted by hand come back (R46)", async (world) => {
    const west = await begin(world);
    for (const { metadata } of await west.slices("web")) {
      await west.delete(ENDPOINT_SLICE, metadata.name!);
    }
    await eventually("they are back", () => expectUsable(west, "web", ["10.1.0.1", "10.1.0.2"]));
  });
}
