// Contract: a namespace that ends: what it refuses meanwhile, what goes with it, when it is gone.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE, NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { aConfigMap, aLease, aService } from "./objects.ts";
import { NO_CONTROLLERS, type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";

export function namespaceContract(server: Server): void {
  const statusOf = async (path: string) => (await server().wire.get(path)).status;
  const held = { finalizers: ["example.org/hold"] };

  /** A namespace that cannot finish ending, because of a Lease in it. */
  async function endingNamespace(): Promise<string> {
    const ns = await server().namespace();
    await server().wire.post(at(LEASE, ns), aLease("held", "nobody", held));
    await server().wire.delete(at(NAMESPACE, "", ns));
    return ns;
  }
  const release = (ns: string) =>
    server().wire.patch(at(LEASE, ns, "held"), "merge", { metadata: { finalizers: null } });

  describe("a namespace", () => {
    test("deleted answers with itself, Terminating", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("held", "nobody", held));
      const deleted = await server().wire.delete(at(NAMESPACE, "", ns));
      expect(deleted.status).toBe(200);
      expect(deleted.object).toMatchObject({
        kind: "Namespace",
        metadata: { name: ns, deletionTimestamp: expect.stringMatching(/Z$/) },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Terminating" },
      });
      await release(ns);
    });

    test("while Terminating refuses new objects with 403 and the cause", async () => {
      const ns = await endingNamespace();
      const refused = await server().wire.post(at(CONFIG_MAP, ns), aConfigMap("late"));
      expect(refused.status).toBe(403);
      expect(refused.error.reason).toBe("Forbidden");
      expect(refused.error.message).toContain(`because it is being terminated`);
      expect(refused.error.details?.causes).toEqual([
        {
          reason: "NamespaceTerminating",
          message: `namespace ${ns} is being terminated`,
          field: "metadata.namespace",
        },
      ]);
      await release(ns);
    });

    test("while Terminating refuses to apply a new object too", async () => {
      const ns = await endingNamespace();
      const refused = await server().wire.patch(
        at(CONFIG_MAP, ns, "late"),
        "apply",
        aConfigMap("late"),
        { fieldManager: "one" },
      );
      expect(refused.status).toBe(403);
      expect(refused.error.details?.causes).toContainEqual(
        expect.objectContaining({ reason: "NamespaceTerminating" }),
      );
      await release(ns);
    });

    test("while Terminating lets objects in it be changed", async () => {
      const ns = await endingNamespace();
      const changed = await server().wire.patch(at(LEASE, ns, "held"), "merge", {
        spec: { holderIdentity: "still me" },
      });
      expect(changed.status).toBe(200);
      await release(ns);
    });

    // Real controllers wait five seconds before they empty a namespace: these wait together.
    test.concurrent("ends with everything in it, and is gone", async ({ expect, skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a"));
      await server().wire.post(at(SERVICE, ns), aService("a"));
      await server().wire.delete(at(NAMESPACE, "", ns));
      await expect.poll(() => statusOf(at(NAMESPACE, "", ns)), SOON).toBe(404);
      expect((await server().wire.get(at(LEASE, ns))).list.items).toEqual([]);
      expect((await server().wire.get(at(SERVICE, ns))).list.items).toEqual([]);
    });

    test.concurrent("waits for the finalizers of what is in it", async ({ expect, skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await endingNamespace();
      await server().wire.post(at(LEASE, ns), aLease("other"));
      const marked = async () => {
        const { object } = await server().wire.get(at(LEASE, ns, "held"));
        return object.metadata.deletionTimestamp;
      };
      await expect.poll(marked, SOON).toMatch(/Z$/);
      const { object } = await server().wire.get(at(NAMESPACE, "", ns));
      expect(object.status?.phase).toBe("Terminating");
      await release(ns);
      await expect.poll(() => statusOf(at(NAMESPACE, "", ns)), SOON).toBe(404);
    });

    test.concurrent("is seen by a watch as MODIFIED when it ends, then DELETED", async ({
      skip,
    }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      const { object } = await server().wire.get(at(NAMESPACE, "", ns));
      const watch = await server().wire.watch(at(NAMESPACE, ""), {
        resourceVersion: object.metadata.resourceVersion!,
        fieldSelector: `metadata.name=${ns}`,
      });
      await server().wire.delete(at(NAMESPACE, "", ns));
      const first = await watch.next();
      expect(first.type).toBe("MODIFIED");
      expect(first.object.status?.phase).toBe("Terminating");
      let last = first;
      while (last.type === "MODIFIED") {
        last = await watch.next();
      }
      watch.close();
      expect(last.type).toBe("DELETED");
    });

    test.concurrent("may come back under its name, empty", async ({ expect, skip }) => {
      skip(!server().hasControllers, NO_CONTROLLERS);
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a"));
      await server().wire.delete(at(NAMESPACE, "", ns));
      await expect.poll(() => statusOf(at(NAMESPACE, "", ns)), SOON).toBe(404);
      const again = await server().wire.post(at(NAMESPACE, ""), {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: ns },
      });
      expect(again.status).toBe(201);
      expect((await server().wire.get(at(LEASE, ns))).list.items).toEqual([]);
    });

    test.each(["Upper", "with.dot", "a".repeat(64)])(
      "named '%s' is refused with 422",
      async (name) => {
        const refused = await server().wire.post(at(NAMESPACE, ""), {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name },
        });
        expect(refused.status).toBe(422);
      },
    );

    test("default and kube-system exist from the start, and default cannot be deleted", async () => {
      expect(await statusOf(at(NAMESPACE, "", "default"))).toBe(200);
      expect(await statusOf(at(NAMESPACE, "", "kube-system"))).toBe(200);
      const refused = await server().wire.delete(at(NAMESPACE, "", "default"));
      expect(refused.status).toBe(403);
    });
  });
}
