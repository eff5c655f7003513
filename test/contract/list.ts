// Contract: lists: order, version, pages that are one snapshot, selectors.

import { beforeAll, describe, expect, test } from "vitest";
import { LEASE, NAMESPACE } from "../../src/api/builtin.ts";
import { aLease, unique } from "./objects.ts";
import { type Server, SOON } from "./server.ts";
import { at, type WireList } from "./wire.ts";

export function listContract(server: Server): void {
  /** A namespace with the Leases a, b, c … in it. */
  async function namespaceOf(...names: readonly string[]): Promise<string> {
    const ns = await server().namespace();
    for (const name of names) {
      await server().wire.post(at(LEASE, ns), aLease(name));
    }
    return ns;
  }
  const namesIn = (list: WireList) => list.items.map((item) => item.metadata.name);

  describe("list", () => {
    test("is ordered by name and says its kind once, not on the items", async () => {
      const ns = await namespaceOf("b", "c", "a");
      const { list } = await server().wire.get(at(LEASE, ns));
      expect(list).toMatchObject({ apiVersion: "coordination.k8s.io/v1", kind: "LeaseList" });
      expect(namesIn(list)).toEqual(["a", "b", "c"]);
      for (const item of list.items) {
        expect(item).not.toHaveProperty("kind");
        expect(item).not.toHaveProperty("apiVersion");
      }
    });

    test("of nothing has an empty array and a version", async () => {
      const ns = await server().namespace();
      const { list } = await server().wire.get(at(LEASE, ns));
      expect(list.items).toEqual([]);
      expect(list.metadata.resourceVersion).toMatch(/^\d+$/);
    });

    test("in a namespace that does not exist is empty", async () => {
      const listed = await server().wire.get(at(LEASE, unique("missing-")));
      expect(listed.status).toBe(200);
      expect(listed.list.items).toEqual([]);
    });

    test("has a version at least as new as each item", async () => {
      const ns = await namespaceOf("a", "b");
      const { list } = await server().wire.get(at(LEASE, ns));
      for (const item of list.items) {
        expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(
          Number(item.metadata.resourceVersion),
        );
      }
    });

    test("across namespaces is ordered by namespace, then name", async () => {
      const first = await namespaceOf("z");
      const second = await namespaceOf("a");
      const { list } = await server().wire.get(at(LEASE, ""));
      const keys = list.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      expect(keys).toEqual(keys.toSorted((left, right) => (left < right ? -1 : 1)));
      expect(keys).toContain(`${first}/z`);
      expect(keys).toContain(`${second}/a`);
    });

    test("with resourceVersion=0 answers without pages", async () => {
      const ns = await namespaceOf("a", "b", "c");
      await expect
        .poll(async () => {
          const { list } = await server().wire.get(at(LEASE, ns), { resourceVersion: "0" });
          return namesIn(list);
        }, SOON)
        .toEqual(["a", "b", "c"]);
    });

    test("of a version that is yet to come is refused with 504 and the cause", async () => {
      const ns = await namespaceOf("a");
      const refused = await server().wire.get(at(LEASE, ns), { resourceVersion: "9000000000" });
      expect(refused.status).toBe(504);
      expect(refused.error.reason).toBe("Timeout");
      expect(refused.error.details?.causes).toEqual([
        { reason: "ResourceVersionTooLarge", message: "Too large resource version" },
      ]);
    });

    test("of a version that is not a number is refused with 400", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.get(at(LEASE, ns), { resourceVersion: "abc" });
      expect(refused.status).toBe(400);
    });
  });

  describe("list in pages", () => {
    test("gives limit items, how many remain, and a token for the next", async () => {
      const ns = await namespaceOf("a", "b", "c", "d", "e");
      const { list } = await server().wire.get(at(LEASE, ns), { limit: 2 });
      expect(namesIn(list)).toEqual(["a", "b"]);
      expect(list.metadata.continue).toMatch(/./);
      expect(list.metadata.remainingItemCount).toBe(3);
    });

    test("ends with a page that has no token", async () => {
      const ns = await namespaceOf("a", "b", "c");
      const { wire } = server();
      const first = await wire.get(at(LEASE, ns), { limit: 2 });
      const last = await wire.get(at(LEASE, ns), {
        limit: 2,
        continue: first.list.metadata.continue!,
      });
      expect(namesIn(last.list)).toEqual(["c"]);
      expect(last.list.metadata).not.toHaveProperty("continue");
      expect(last.list.metadata).not.toHaveProperty("remainingItemCount");
    });

    test("is one snapshot, whatever changes between the pages", async () => {
      const ns = await namespaceOf("a", "b", "c", "d");
      const { wire } = server();
      const first = await wire.get(at(LEASE, ns), { limit: 2 });
      await wire.delete(at(LEASE, ns, "c"));
      await wire.patch(at(LEASE, ns, "d"), "merge", { spec: { holderIdentity: "changed" } });
      await wire.post(at(LEASE, ns), aLease("e"));
      const second = await wire.get(at(LEASE, ns), {
        limit: 2,
        continue: first.list.metadata.continue!,
      });
      expect(namesIn(second.list)).toEqual(["c", "d"]);
      expect(second.list.items[1]?.spec).toEqual({ holderIdentity: "nobody" });
      expect(second.list.metadata.resourceVersion).toBe(first.list.metadata.resourceVersion);
    });

    test("filters each page, and then cannot say how many remain", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      for (const [index, name] of ["a", "b", "c", "d"].entries()) {
        const labels = { odd: String(index % 2 === 1) };
        await wire.post(at(LEASE, ns), aLease(name, "nobody", { labels }));
      }
      const query = { limit: 1, labelSelector: "odd=true" };
      const first = await wire.get(at(LEASE, ns), query);
      expect(namesIn(first.list)).toEqual(["b"]);
      expect(first.list.metadata).not.toHaveProperty("remainingItemCount");
      const second = await wire.get(at(LEASE, ns), {
        ...query,
        continue: first.list.metadata.continue!,
      });
      expect(namesIn(second.list)).toEqual(["d"]);
    });

    test("refuses a token that it did not give with 400", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.get(at(LEASE, ns), { limit: 2, continue: "nonsense" });
      expect(refused.status).toBe(400);
      expect(refused.error.reason).toBe("BadRequest");
    });

    test("refuses a version together with a token", async () => {
      const ns = await namespaceOf("a", "b");
      const { wire } = server();
      const first = await wire.get(at(LEASE, ns), { limit: 1 });
      const refused = await wire.get(at(LEASE, ns), {
        limit: 1,
        continue: first.list.metadata.continue!,
        resourceVersion: first.list.metadata.resourceVersion,
      });
      expect(refused.status).toBe(400);
    });
  });

  describe("label selectors", () => {
    let ns: string;
    beforeAll(async () => {
      ns = await server().namespace();
      const labels = {
        web1: { app: "web", tier: "front" },
        web2: { app: "web" },
        db1: { app: "db", tier: "back" },
        bare: {},
      };
      for (const [name, its] of Object.entries(labels)) {
        await server().wire.post(at(LEASE, ns), aLease(name, "nobody", { labels: its }));
      }
    });

    test.each<[string, readonly string[]]>([
      ["app=web", ["web1", "web2"]],
      ["app==web", ["web1", "web2"]],
      ["app!=web", ["bare", "db1"]],
      ["app in (web, db)", ["db1", "web1", "web2"]],
      ["app notin (web)", ["bare", "db1"]],
      ["tier", ["db1", "web1"]],
      ["!tier", ["bare", "web2"]],
      ["app=web,!tier", ["web2"]],
      ["app=web,tier in (front,back)", ["web1"]],
      ["app=", []],
      ["app=nobody", []],
      ["", ["bare", "db1", "web1", "web2"]],
    ])("'%s' selects %j", async (labelSelector, names) => {
      const { list } = await server().wire.get(at(LEASE, ns), { labelSelector });
      expect(namesIn(list)).toEqual(names);
    });

    test.each(["app=a=b", "app in web", "=web", "app=no spaces", "app in (web"])(
      "'%s' is refused with 400",
      async (labelSelector) => {
        const refused = await server().wire.get(at(LEASE, ns), { labelSelector });
        expect(refused.status).toBe(400);
        expect(refused.error.reason).toBe("BadRequest");
      },
    );
  });

  describe("field selectors", () => {
    test("select by name", async () => {
      const ns = await namespaceOf("a", "b");
      const { wire } = server();
      const one = await wire.get(at(LEASE, ns), { fieldSelector: "metadata.name=b" });
      expect(namesIn(one.list)).toEqual(["b"]);
      const other = await wire.get(at(LEASE, ns), { fieldSelector: "metadata.name!=b" });
      expect(namesIn(other.list)).toEqual(["a"]);
    });

    test("select by namespace across namespaces", async () => {
      const ns = await namespaceOf("a");
      await namespaceOf("a");
      const { list } = await server().wire.get(at(LEASE, ""), {
        fieldSelector: `metadata.namespace=${ns},metadata.name=a`,
      });
      expect(list.items.map((item) => item.metadata.namespace)).toEqual([ns]);
    });

    test("select Namespaces by phase", async () => {
      const ns = await server().namespace();
      const { list } = await server().wire.get(at(NAMESPACE, ""), {
        fieldSelector: "status.phase=Active",
      });
      expect(namesIn(list)).toContain(ns);
    });

    test("of a field that the kind does not offer are refused with 400", async () => {
      const ns = await server().namespace();
      const refused = await server().wire.get(at(LEASE, ns), {
        fieldSelector: "spec.holderIdentity=x",
      });
      expect(refused.status).toBe(400);
      expect(refused.error.message).toContain("is not a known field selector");
    });
  });
}
