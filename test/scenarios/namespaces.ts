// Scenarios: clusters in which the service's namespace is missing, comes, goes, or is nobody's business.

import { expect } from "vitest";
import { CONFIG_MAP, NAMESPACE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { unique } from "../contract/objects.ts";
import {
  absentEverywhere,
  expectAbsent,
  expectUsable,
  untilYounger,
  usableEverywhere,
} from "./outcome.ts";
import { eventually } from "./poll.ts";
import type { DefineScenario } from "./suite.ts";
import { createNamespace } from "./world.ts";

export function namespaceScenarios(scenario: DefineScenario): void {
  scenario("a cluster without the namespace imports as soon as it has one (R14)", async (world) => {
    const name = world.reserveNamespace();
    const east = world.sites[0].in(name);
    const west = world.sites[1].in(name);
    world.start();
    await createNamespace(east, name);
    await east.offer("web", ["10.1.0.1"]);
    await eventually("the exporting cluster imports", () =>
      expectUsable(east, "web", ["10.1.0.1"]),
    );
    await world.settle();
    expect(await west.store.get(NAMESPACE, { name })).toBeUndefined();
    await createNamespace(west, name);
    await eventually("the other follows", () => expectUsable(west, "web", ["10.1.0.1"]));
  });

  scenario("asked to, central makes missing namespaces (R14)", async (world) => {
    const name = world.reserveNamespace();
    const east = world.sites[0].in(name);
    world.start({ namespaces: "create" });
    await createNamespace(east, name);
    await east.offer("web", ["10.1.0.1"]);
    await world.everywhere("the namespace and the import are there", (site) =>
      expectUsable(site.in(name), "web", ["10.1.0.1"]),
    );
  });

  scenario(
    "told never to, a cluster that lacked the namespace stays without the import (R14)",
    async (world) => {
      const name = world.reserveNamespace();
      const east = world.sites[0].in(name);
      const west = world.sites[1].in(name);
      world.start({ namespaces: "never" });
      await createNamespace(east, name);
      await east.offer("web", ["10.1.0.1"]);
      await eventually("the exporting cluster imports", () =>
        expectUsable(east, "web", ["10.1.0.1"]),
      );
      await untilYounger(await east.require(SERVICE_EXPORT, "web"));
      await createNamespace(west, name);
      // What is exported from now on comes, so the cluster has seen the namespace.
      await west.offer("other", ["10.2.0.1"]);
      await eventually("a younger service is imported", () =>
        expectUsable(west, "other", ["10.2.0.1"]),
      );
      await world.settle();
      await expectAbsent(west, "web");
    },
  );

  scenario(
    "a namespace that is being deleted is left alone, and imports again when it is made anew (R19)",
    async (world) => {
      const name = world.reserveNamespace();
      const east = world.sites[0].in(name);
      const west = world.sites[1].in(name);
      for (const site of world.sites) await createNamespace(site, name);
      await west.create(CONFIG_MAP, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: name, name: "anchor", finalizers: ["example.com/anchor"] },
      });
      await east.offer("web", ["10.1.0.1"]);
      world.start();
      await eventually("the import is there", () => expectUsable(west, "web", ["10.1.0.1"]));
      await west.store.delete(NAMESPACE, { name });
      await eventually("the import has gone with its namespace", () => expectAbsent(west, "web"));
      await world.settle();
      world.forgetWrites();
      await east.offer("other", ["10.1.0.2"]);
      await eventually("others go on", () => expectUsable(east, "other", ["10.1.0.2"]));
      await world.settle();
      expect(west.line.writes()).toEqual([]);
      // An export that began before its agent had heard of the hub may say so; nothing was imported in vain.
      const failed = world.log.filter(({ message }) => message === "reconcile failed");
      expect(failed.filter(({ fields }) => fields["queue"] === "import")).toEqual([]);

      await west.edit(CONFIG_MAP, "anchor", ({ metadata, ...object }) => {
        const { finalizers: _, ...rest } = metadata;
        return { ...object, metadata: rest };
      });
      await eventually("the namespace can be made anew", () => createNamespace(west, name));
      await eventually("both imports are there", async () => {
        await expectUsable(west, "web", ["10.1.0.1"]);
        await expectUsable(west, "other", ["10.1.0.2"]);
      });
    },
    { controllers: true },
  );

  scenario("exports from denied namespaces are refused, and say so (R68)", async (world) => {
    const name = world.reserveNamespace();
    const east = world.sites[0].in(name);
    for (const site of world.sites) await createNamespace(site, name);
    world.start({ denied: [name] });
    await east.offer("web", ["10.1.0.1"]);
    await eventually("the export says why", async () => {
      const { Valid, Ready } = await east.exportConditions("web");
      expect(Valid).toMatchObject({ status: "False", reason: "NamespaceDenied" });
      expect(Valid?.message).toContain(`namespace "${name}"`);
      expect(Ready).toMatchObject({ status: "False", reason: "Failed" });
    });
    await world.settle();
    for (const site of world.sites) await expectAbsent(site.in(name), "web");

    await world.restart();
    await world.everywhere("allowed again, it is imported", (site) =>
      expectUsable(site.in(name), "web", ["10.1.0.1"]),
    );
    await world.restart({ denied: [name] });
    await world.everywhere("denied again, it is taken back", (site) =>
      expectAbsent(site.in(name), "web"),
    );
  });

  scenario("the cluster's own namespaces are denied without being named (R68)", async (world) => {
    const name = unique("web-");
    world.show("kube-public");
    const east = world.sites[0].in("kube-public");
    world.start();
    try {
      await east.export(name);
      await eventually("the export says why", async () => {
        const { Valid } = await east.exportConditions(name);
        expect(Valid).toMatchObject({ status: "False", reason: "NamespaceDenied" });
      });
      await world.settle();
      expect(await east.get(SERVICE_IMPORT, name)).toBeUndefined();
    } finally {
      await east.unexport(name);
    }
  });

  scenario(
    "deleting the namespace in the exporting cluster withdraws what it exported (R10)",
    async (world) => {
      const [east] = world.sites;
      world.start();
      await east.offer("web", ["10.1.0.1"]);
      await usableEverywhere(world, "web", ["10.1.0.1"]);
      await east.store.delete(NAMESPACE, { name: world.namespace });
      // Not our work, and a busy controller manager takes its time over it.
      await eventually(
        "the cluster empties the namespace",
        async () => expect(await east.get(SERVICE_EXPORT, "web")).toBeUndefined(),
        60_000,
      );
      await absentEverywhere(world, "web");
    },
    { controllers: true },
  );
}
