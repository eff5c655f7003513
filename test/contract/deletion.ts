// Contract: finalizers, propagation, owner references and deleting many at once.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE } from "../../src/api/builtin.ts";
import type { ObjectMeta, OwnerReference } from "../../src/api/object.ts";
import { aConfigMap, aLease } from "./objects.ts";
import { NO_CONTROLLERS, type Server, SOON } from "./server.ts";
import { at, type WireObject } from "./wire.ts";

const HOLD = "example.org/hold";

export function deletionContract(server: Server): void {
  const create = async (ns: string, name: string, metadata: ObjectMeta = {}) =>
    (await server().wire.post(at(LEASE, ns), aLease(name, "nobody", metadata))).object;
  const statusOf = async (ns: string, name: string) =>
    (await server().wire.get(at(LEASE, ns, name))).status;
  const release = (ns: string, name: string) =>
    server().wire.patch(at(LEASE, ns, name), "merge", { metadata: { finalizers: null } });
  const ownedBy = (owner: WireObject, fields: Partial<OwnerReference> = {}): OwnerReference => ({
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name!,
    uid: owner.metadata.uid!,
    ...fields,
  });

  describe("an object with a finalizer", () => {
    test("is marked, not removed, and answers the delete with itself", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { finalizers: [HOLD] });
      const deleted = await server().wire.delete(at(LEASE, ns, "a"));
      expect(deleted.status).toBe(200);
      expect(deleted.object.kind).toBe("Lease");
      const { object } = await server().wire.get(at(LEASE, ns, "a"));
      expect(object.metadata.deletionTimestamp).toMatch(/Z$/);
      expect(object.metadata.deletionGracePeriodSeconds).toBe(0);
      expect(object.metadata.finalizers).toEqual([HOLD]);
      await release(ns, "a");
    });

    test("goes when the last finalizer goes", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { finalizers: [HOLD] });
      await server().wire.delete(at(LEASE, ns, "a"));
      expect((await release(ns, "a")).status).toBe(200);
      expect(await statusOf(ns, "a")).toBe(404);
    });

    test("deleted again keeps its first deletion time and version", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { finalizers: [HOLD] });
      const first = await server().wire.delete(at(LEASE, ns, "a"));
      const second = await server().wire.delete(at(LEASE, ns, "a"));
      expect(second.status).toBe(200);
      expect(second.object.metadata).toMatchObject({
        deletionTimestamp: first.object.metadata.deletionTimestamp,
        resourceVersion: first.object.metadata.resourceVersion,
      });
      await release(ns, "a");
    });

    test("once marked takes no new finalizer", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { finalizers: [HOLD] });
      await server().wire.delete(at(LEASE, ns, "a"));
      const refused = await server().wire.patch(at(LEASE, ns, "a"), "merge", {
        metadata: { finalizers: [HOLD, "example.org/late"] },
      });
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ field: "metadata.finalizers", reason: "FieldValueForbidden" }),
      );
      await release(ns, "a");
    });

    test("once marked can still be changed otherwise, and cannot be unmarked", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { finalizers: [HOLD] });
      const marked = await server().wire.delete(at(LEASE, ns, "a"));
      const changed = await server().wire.patch(at(LEASE, ns, "a"), "merge", {
        metadata: { deletionTimestamp: null, labels: { still: "here" } },
      });
      expect(changed.status).toBe(200);
      expect(changed.object.metadata).toMatchObject({
        labels: { still: "here" },
        deletionTimestamp: marked.object.metadata.deletionTimestamp,
      });
      await release(ns, "a");
    });

    test("is MODIFIED for a watch when marked, and DELETED when gone", async () => {
      const ns = await server().namespace();
      const { metadata } = await create(ns, "a", { finalizers: [HOLD] });
      const watch = await server().wire.watch(at(LEASE, ns), {
        resourceVersion: metadata.resourceVersion!,
      });
      await server().wire.delete(at(LEASE, ns, "a"));
      await release(ns, "a");
      const events = await watch.take(2);
      watch.close();
      expect(events.map((event) => event.type)).toEqual(["MODIFIED", "DELETED"]);
      expect(events[0]?.object.metadata.deletionTimestamp).toMatch(/Z$/);
    });
  });

  describe("owned objects", () => {
    test("go after their owner, in the background", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      await create(ns, "owned", { ownerReferences: [ownedBy(owner)] });
      await server().wire.delete(at(LEASE, ns, "owner"), { propagationPolicy: "Background" });
      expect(await statusOf(ns, "owner")).toBe(404);
      await expect.poll(() => statusOf(ns, "owned"), SOON).toBe(404);
    });

    test("go by default too", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      await create(ns, "owned", { ownerReferences: [ownedBy(owner)] });
      await server().wire.delete(at(LEASE, ns, "owner"));
      await expect.poll(() => statusOf(ns, "owned"), SOON).toBe(404);
    });

    test("of another kind go too, and theirs after them", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      const { object: map } = await server().wire.post(
        at(CONFIG_MAP, ns),
        aConfigMap("owned", {}, { ownerReferences: [ownedBy(owner)] }),
      );
      await create(ns, "grandchild", { ownerReferences: [ownedBy(map)] });
      await server().wire.delete(at(LEASE, ns, "owner"));
      await expect.poll(() => statusOf(ns, "grandchild"), SOON).toBe(404);
      expect((await server().wire.get(at(CONFIG_MAP, ns, "owned"))).status).toBe(404);
    });

    test("stay while another owner lives, without the reference to the one that went", async ({
      skip,
    }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const first = await create(ns, "first");
      const second = await create(ns, "second");
      await create(ns, "owned", { ownerReferences: [ownedBy(first), ownedBy(second)] });
      await server().wire.delete(at(LEASE, ns, "first"));
      const owners = async () => {
        const { object } = await server().wire.get(at(LEASE, ns, "owned"));
        return object.metadata.ownerReferences?.map((owner) => owner.name);
      };
      await expect.poll(owners, SOON).toEqual(["second"]);
      await server().wire.delete(at(LEASE, ns, "second"));
      await expect.poll(() => statusOf(ns, "owned"), SOON).toBe(404);
    });

    test("of an owner that never was are collected", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      const ghost = ownedBy(owner, { uid: "11111111-1111-1111-1111-111111111111" });
      await create(ns, "owned", { ownerReferences: [ghost] });
      await expect.poll(() => statusOf(ns, "owned"), SOON).toBe(404);
      expect(await statusOf(ns, "owner")).toBe(200);
    });

    test("are kept, free of the owner, by Orphan", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      await create(ns, "owned", { ownerReferences: [ownedBy(owner)] });
      const deleted = await server().wire.delete(at(LEASE, ns, "owner"), {
        propagationPolicy: "Orphan",
      });
      expect(deleted.status).toBe(200);
      await expect.poll(() => statusOf(ns, "owner"), SOON).toBe(404);
      const { object } = await server().wire.get(at(LEASE, ns, "owned"));
      expect(object.metadata).not.toHaveProperty("ownerReferences");
    });

    test("that block it hold their owner in Foreground until they are gone", async ({ skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const owner = await create(ns, "owner");
      await create(ns, "owned", {
        finalizers: [HOLD],
        ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })],
      });
      await server().wire.delete(at(LEASE, ns, "owner"), { propagationPolicy: "Foreground" });
      const marked = async () => {
        const { object } = await server().wire.get(at(LEASE, ns, "owned"));
        return object.metadata.deletionTimestamp;
      };
      await expect.poll(marked, SOON).toMatch(/Z$/);
      const { object } = await server().wire.get(at(LEASE, ns, "owner"));
      expect(object.metadata.finalizers).toEqual(["foregroundDeletion"]);
      expect(object.metadata.deletionTimestamp).toMatch(/Z$/);
      await release(ns, "owned");
      await expect.poll(() => statusOf(ns, "owner"), SOON).toBe(404);
      expect(await statusOf(ns, "owned")).toBe(404);
    });

    test("cannot have two controllers", async () => {
      const ns = await server().namespace();
      const owner = ownedBy(await create(ns, "owner"), { controller: true });
      const other = ownedBy(await create(ns, "other"), { controller: true });
      const refused = await server().wire.post(
        at(LEASE, ns),
        aLease("owned", "nobody", { ownerReferences: [owner, other] }),
      );
      expect(refused.status).toBe(422);
    });

    test("need the owner's name, kind and uid", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.post(
        at(LEASE, ns),
        aLease("owned", "nobody", {
          ownerReferences: [{ apiVersion: "v1", kind: "", name: "", uid: "" }],
        }),
      );
      expect(refused.status).toBe(422);
      expect(refused.error.details?.causes?.map((cause) => cause.field)).toEqual([
        "metadata.ownerReferences.kind",
        "metadata.ownerReferences.name",
        "metadata.ownerReferences.uid",
      ]);
    });
  });

  describe("deleting a collection", () => {
    test("deletes what the selector matches and answers with it", async () => {
      const ns = await server().namespace();
      await create(ns, "a", { labels: { go: "yes" } });
      await create(ns, "b", { labels: { go: "yes" } });
      await create(ns, "c", { labels: { go: "no" } });
      const deleted = await server().wire.delete(at(LEASE, ns), undefined, {
        labelSelector: "go=yes",
      });
      expect(deleted.status).toBe(200);
      expect(deleted.list.kind).toBe("LeaseList");
      expect(new Set(deleted.list.items.map((item) => item.metadata.name))).toEqual(
        new Set(["a", "b"]),
      );
      const { list } = await server().wire.get(at(LEASE, ns));
      expect(list.items.map((item) => item.metadata.name)).toEqual(["c"]);
    });

    test("leaves other namespaces alone", async () => {
      const ns = await server().namespace();
      const other = await server().namespace();
      await create(ns, "a");
      await create(other, "a");
      await server().wire.delete(at(LEASE, ns));
      expect(await statusOf(ns, "a")).toBe(404);
      expect(await statusOf(other, "a")).toBe(200);
    });

    test("across namespaces is not offered: 405", async () => {
      expect((await server().wire.delete(at(LEASE, ""))).status).toBe(405);
    });
  });
}
