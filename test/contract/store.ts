// Contract: the store port, through our own client: what each verb promises, on a live server.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE, type Lease } from "../../src/api/builtin.ts";
import { isStoreError, type StoreErrorCode, type WatchEvent } from "../../src/ports/store.ts";
import { aConfigMap, aLease, unique } from "./objects.ts";
import type { Server } from "./server.ts";

export function storeContract(server: Server): void {
  const leaseIn = (namespace: string, name: string): Lease => aLease(name, "nobody", { namespace });
  const codeOf = async (attempt: Promise<unknown>): Promise<StoreErrorCode | "none"> =>
    attempt.then(
      () => "none",
      (error: unknown) => {
        if (isStoreError(error)) {
          return error.code;
        }
        throw error;
      },
    );

  describe("the store port", () => {
    test("gets what it created, and undefined for what is not there", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      const created = await client.create(LEASE, leaseIn(namespace, "a"));
      expect(await client.get(LEASE, { namespace, name: "a" })).toEqual(created);
      expect(await client.get(LEASE, { namespace, name: "b" })).toBeUndefined();
    });

    test("lists items that know their kind", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      await client.create(LEASE, leaseIn(namespace, "a"));
      const page = await client.list(LEASE, { namespace });
      expect(page.items).toEqual([
        expect.objectContaining({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" }),
      ]);
      expect(page).not.toHaveProperty("continue");
    });

    test("lists in pages", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      for (const name of ["a", "b", "c"]) {
        await client.create(LEASE, leaseIn(namespace, name));
      }
      const names: (string | undefined)[] = [];
      let next: string | undefined;
      do {
        const page = await client.list(LEASE, {
          namespace,
          limit: 1,
          ...(next !== undefined && { continue: next }),
        });
        names.push(...page.items.map((item) => item.metadata.name));
        next = page.continue;
      } while (next !== undefined);
      expect(names).toEqual(["a", "b", "c"]);
    });

    test("deletes, and says whether there was something to delete", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      await client.create(LEASE, leaseIn(namespace, "a"));
      expect(await client.delete(LEASE, { namespace, name: "a" })).toBe(true);
      expect(await client.delete(LEASE, { namespace, name: "a" })).toBe(false);
    });

    test("names each refusal in the server's vocabulary", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      const created = await client.create(LEASE, leaseIn(namespace, "a"));
      await client.replace(LEASE, { ...created, spec: { holderIdentity: "x" } });
      expect(await codeOf(client.create(LEASE, leaseIn(namespace, "a")))).toBe("AlreadyExists");
      expect(await codeOf(client.replace(LEASE, { ...created, spec: {} }))).toBe("Conflict");
      expect(await codeOf(client.create(LEASE, leaseIn(unique("missing-"), "a")))).toBe("NotFound");
      expect(await codeOf(client.create(LEASE, leaseIn(namespace, "A_")))).toBe("Invalid");
      expect(await codeOf(client.list(LEASE, { namespace, labelSelector: "a=b=c" }))).toBe(
        "BadRequest",
      );
      const uid = "11111111-1111-1111-1111-111111111111";
      expect(await codeOf(client.delete(LEASE, { namespace, name: "a" }, { uid }))).toBe(
        "Conflict",
      );
    });

    test("applies, again without a write, and conflicts unless forced", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      const object = aConfigMap("a", { x: "1" }, { namespace });
      const first = await client.apply(CONFIG_MAP, object, { fieldManager: "one" });
      const second = await client.apply(CONFIG_MAP, object, { fieldManager: "one" });
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      const other = aConfigMap("a", { x: "2" }, { namespace });
      const attempt = client.apply(CONFIG_MAP, other, { fieldManager: "two" });
      expect(await codeOf(attempt)).toBe("Conflict");
      const forced = await client.apply(CONFIG_MAP, other, { fieldManager: "two", force: true });
      expect(forced.data).toEqual({ x: "2" });
    });

    test("with dryRun writes nothing", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      await client.create(LEASE, leaseIn(namespace, "a"), { dryRun: true });
      expect(await client.get(LEASE, { namespace, name: "a" })).toBeUndefined();
    });

    test("watches from a list on, until the server ends it", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      const { resourceVersion } = await client.list(LEASE, { namespace });
      await client.create(LEASE, leaseIn(namespace, "a"));
      await client.delete(LEASE, { namespace, name: "a" });
      const events: WatchEvent<Lease>[] = [];
      await client.watch(LEASE, { namespace, resourceVersion, timeoutSeconds: 1 }, (event) =>
        events.push(event),
      );
      const changes = events.filter((event) => event.type !== "BOOKMARK");
      expect(changes.map((event) => event.type)).toEqual(["ADDED", "DELETED"]);
      expect(changes[0]).toMatchObject({ object: { kind: "Lease", metadata: { name: "a" } } });
    });

    test("rejects a watch that starts too far back with Gone", async () => {
      const { client } = server();
      const widgets = await server().widgets();
      const attempt = client.watch(widgets.v1, { resourceVersion: "1" }, () => {});
      expect(await codeOf(attempt)).toBe("Gone");
    });

    test("ends a watch when its signal aborts", async () => {
      const namespace = await server().namespace();
      const { client } = server();
      const { resourceVersion } = await client.list(LEASE, { namespace });
      const abort = new AbortController();
      let opened = 0;
      await client.watch(
        LEASE,
        {
          namespace,
          resourceVersion,
          signal: abort.signal,
          onOpen: () => {
            opened += 1;
            abort.abort();
          },
        },
        () => {},
      );
      expect(opened).toBe(1);
    });
  });
}
