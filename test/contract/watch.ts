// Contract: watches: which events come, in which order, from where they resume and how they end.

import { describe, expect, test } from "vitest";
import { LEASE } from "../../src/api/builtin.ts";
import { aLease } from "./objects.ts";
import type { Server } from "./server.ts";
import { at, type WireEvent } from "./wire.ts";

export function watchContract(server: Server): void {
  const create = async (ns: string, name: string, labels: Record<string, string> = {}) =>
    (await server().wire.post(at(LEASE, ns), aLease(name, "nobody", { labels }))).object;
  const change = async (ns: string, name: string, patch: unknown) =>
    (await server().wire.patch(at(LEASE, ns, name), "merge", patch)).object;
  const versionOf = async (ns: string) =>
    (await server().wire.get(at(LEASE, ns))).list.metadata.resourceVersion;
  const summary = (events: readonly WireEvent[]) =>
    events.map((event) => `${event.type} ${event.object.metadata.name}`);

  describe("watch", () => {
    test("from a list's version tells each later change once, in order", async () => {
      const ns = await server().namespace();
      await create(ns, "before");
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      const added = await create(ns, "a");
      const modified = await change(ns, "a", { spec: { holderIdentity: "me" } });
      await create(ns, "b");
      await server().wire.delete(at(LEASE, ns, "a"));
      const events = await watch.take(4);
      watch.close();
      expect(summary(events)).toEqual(["ADDED a", "MODIFIED a", "ADDED b", "DELETED a"]);
      expect(events[0]?.object).toEqual(added);
      expect(events[1]?.object).toEqual(modified);
    });

    test("tells what happened between the list and its own start", async () => {
      const ns = await server().namespace();
      const resourceVersion = await versionOf(ns);
      await create(ns, "a");
      await server().wire.delete(at(LEASE, ns, "a"));
      const watch = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      const events = await watch.take(2);
      watch.close();
      expect(summary(events)).toEqual(["ADDED a", "DELETED a"]);
    });

    test("has growing versions, and a DELETED object carries the version of its deletion", async () => {
      const ns = await server().namespace();
      const resourceVersion = await versionOf(ns);
      const object = await create(ns, "a");
      await server().wire.delete(at(LEASE, ns, "a"));
      await create(ns, "b");
      const watch = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      const events = await watch.take(3);
      watch.close();
      const versions = events.map((event) => Number(event.object.metadata.resourceVersion));
      expect(versions).toEqual(versions.toSorted((left, right) => left - right));
      expect(new Set(versions).size).toBe(3);
      expect(versions[1]).toBeGreaterThan(Number(object.metadata.resourceVersion));
    });

    test("resumed at any event's version misses nothing and repeats nothing", async () => {
      const ns = await server().namespace();
      const resourceVersion = await versionOf(ns);
      await create(ns, "a");
      await change(ns, "a", { spec: { holderIdentity: "x" } });
      await create(ns, "b");
      await server().wire.delete(at(LEASE, ns, "b"));
      await create(ns, "c");
      const first = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      const all = await first.take(5);
      first.close();
      for (const [index, event] of all.slice(0, 4).entries()) {
        const resumed = await server().wire.watch(at(LEASE, ns), {
          resourceVersion: event.object.metadata.resourceVersion!,
        });
        expect(await resumed.take(4 - index)).toEqual(all.slice(index + 1));
        resumed.close();
      }
    });

    test("tells nothing of other namespaces", async () => {
      const ns = await server().namespace();
      const other = await server().namespace();
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      await create(other, "elsewhere");
      await create(ns, "here");
      expect(summary([await watch.next()])).toEqual(["ADDED here"]);
      watch.close();
    });

    test("across namespaces tells of all of them", async () => {
      const first = await server().namespace();
      const second = await server().namespace();
      const resourceVersion = await versionOf(first);
      const watch = await server().wire.watch(at(LEASE, ""), {
        resourceVersion,
        labelSelector: `suite=${first}`,
      });
      await create(first, "a", { suite: first });
      await create(second, "b", { suite: first });
      expect(summary(await watch.take(2))).toEqual(["ADDED a", "ADDED b"]);
      watch.close();
    });

    test("of one name tells of that object only", async () => {
      const ns = await server().namespace();
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), {
        resourceVersion,
        fieldSelector: "metadata.name=b",
      });
      await create(ns, "a");
      await create(ns, "b");
      expect(summary([await watch.next()])).toEqual(["ADDED b"]);
      watch.close();
    });

    test("does not tell of a write that changed nothing", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), { resourceVersion });
      await change(ns, "a", { spec: { holderIdentity: "nobody" } });
      await create(ns, "b");
      expect(summary([await watch.next()])).toEqual(["ADDED b"]);
      watch.close();
    });

    test("with a selector turns changes of the labels into ADDED and DELETED", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), {
        resourceVersion,
        labelSelector: "in=yes",
      });
      await change(ns, "a", { metadata: { labels: { in: "yes" } } });
      await change(ns, "a", { spec: { holderIdentity: "me" } });
      const last = await change(ns, "a", { metadata: { labels: { in: "no" } } });
      await change(ns, "a", { spec: { holderIdentity: "you" } });
      await create(ns, "b", { in: "yes" });
      const events = await watch.take(4);
      watch.close();
      expect(summary(events)).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"]);
      // The object that leaves is shown as it last matched, under the version of the change.
      expect(events[2]?.object.metadata.labels).toEqual({ in: "yes" });
      expect(events[2]?.object.metadata.resourceVersion).toBe(last.metadata.resourceVersion);
    });

    test.each([{ resourceVersion: "0" }, {}])(
      "with %j begins with what exists as ADDED",
      async (query) => {
        const ns = await server().namespace();
        await create(ns, "a");
        await create(ns, "b");
        const watch = await server().wire.watch(at(LEASE, ns), query);
        const events = await watch.take(2);
        expect(summary(events).sort()).toEqual(["ADDED a", "ADDED b"]);
        await create(ns, "c");
        expect(summary([await watch.next()])).toEqual(["ADDED c"]);
        watch.close();
      },
    );

    test("ends cleanly after timeoutSeconds", async () => {
      const ns = await server().namespace();
      const resourceVersion = await versionOf(ns);
      const watch = await server().wire.watch(at(LEASE, ns), {
        resourceVersion,
        timeoutSeconds: 1,
      });
      expect(watch.status).toBe(200);
      expect(await watch.rest()).toEqual([]);
    });

    test("with a timeout that is no number is refused, as a list with such a limit", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const watch = await wire.watch(at(LEASE, ns), { timeoutSeconds: "soon" });
      watch.close();
      const list = await wire.get(at(LEASE, ns), { limit: "0x10" });
      expect([watch.status, list.status]).toEqual([400, 400]);
    });

    test("sends a bookmark where asked for: a kind, a version of now, and no more", async () => {
      const ns = await server().namespace();
      const other = await server().namespace();
      const resourceVersion = await versionOf(ns);
      await create(ns, "a");
      const elsewhere = await create(other, "b");
      const query = { resourceVersion, timeoutSeconds: 8 };
      const ask = async () => {
        const asked = { ...query, allowWatchBookmarks: true };
        const [first, ...rest] = await (await server().wire.watch(at(LEASE, ns), asked)).rest();
        expect(first?.type).toBe("ADDED");
        return rest;
      };
      const unasked = await server().wire.watch(at(LEASE, ns), query);
      let bookmarks = await ask();
      // It comes two seconds before the end, within a second or so: a server that is short of time ends the watch without one.
      for (let more = 5; bookmarks.length === 0 && more > 0; more -= 1) bookmarks = await ask();
      expect(bookmarks.map((event) => event.type)).toContain("BOOKMARK");
      const { object } = bookmarks.at(-1)!;
      expect(object).toMatchObject({ kind: "Lease", apiVersion: "coordination.k8s.io/v1" });
      expect(Object.keys(object.metadata)).toEqual(["resourceVersion"]);
      expect(Number(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
        Number(elsewhere.metadata.resourceVersion),
      );
      expect(summary(await unasked.rest())).toEqual(["ADDED a"]);
    });

    test("from a version that is too old tells an ERROR with a Status 410 Expired", async () => {
      // A server's memory of a custom kind starts, at the earliest, when the kind is installed.
      const widgets = await server().widgets();
      const watch = await server().wire.watch(at(widgets.v1, ""), { resourceVersion: "1" });
      expect(watch.status).toBe(200);
      const events = await watch.rest();
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({
        type: "ERROR",
        object: {
          kind: "Status",
          apiVersion: "v1",
          status: "Failure",
          code: 410,
          reason: "Expired",
        },
      });
    });
  });
}
