// Contract: the informer on a live server: it syncs, follows, and survives a cut without a missed or repeated change.

import { describe, expect, onTestFinished, test } from "vitest";
import { LEASE, type Lease } from "../../src/api/builtin.ts";
import { createClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { createInformer, type Informer } from "../../src/runtime/informer.ts";
import { aLease } from "./objects.ts";
import { openRelay, type Relay } from "./relay.ts";
import { type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";

interface Follower {
  readonly informer: Informer<Lease>;
  readonly relay: Relay;
  /** What was told, as "+a", "~a", "-a". */
  readonly changes: readonly string[];
}

export function informerContract(server: Server): void {
  async function follow(namespace: string, labelSelector?: string): Promise<Follower> {
    const { config } = server().client;
    const relay = await openRelay(new URL(config.server));
    const url = `https://127.0.0.1:${relay.port}`;
    const client = createClient({ ...config, server: url }, { clock: systemClock });
    const changes: string[] = [];
    const informer = createInformer({
      store: client,
      resource: LEASE,
      namespace,
      ...(labelSelector !== undefined && { labelSelector }),
      onChange: (_key, before, after) => {
        const sign = before === undefined ? "+" : after === undefined ? "-" : "~";
        changes.push(`${sign}${(after ?? before)?.metadata.name}`);
      },
      onError: () => {},
      clock: systemClock,
      random: () => 0,
    });
    onTestFinished(async () => {
      await informer.stop();
      await client.close();
      await relay.close();
    });
    await informer.whenSynced();
    return { informer, relay, changes };
  }
  const create = (ns: string, name: string, labels: Record<string, string> = {}) =>
    server().wire.post(at(LEASE, ns), aLease(name, "nobody", { labels }));
  const remove = (ns: string, name: string) => server().wire.delete(at(LEASE, ns, name));
  const change = (ns: string, name: string, patch: unknown) =>
    server().wire.patch(at(LEASE, ns, name), "merge", patch);

  describe("the informer", () => {
    test("starts with what exists and then follows", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      await create(ns, "b");
      const { informer, changes } = await follow(ns);
      expect(informer.isSynced()).toBe(true);
      expect([...informer.keys()].toSorted()).toEqual([`${ns}/a`, `${ns}/b`]);
      await change(ns, "a", { spec: { holderIdentity: "me" } });
      await remove(ns, "b");
      await create(ns, "c");
      await expect.poll(() => changes, SOON).toEqual(["+a", "+b", "~a", "-b", "+c"]);
      expect(informer.get(`${ns}/a`)?.spec).toEqual({ holderIdentity: "me" });
    });

    test("after a cut resumes: tells what happened meanwhile, and nothing twice", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      const { relay, changes } = await follow(ns);
      await create(ns, "b");
      await expect.poll(() => changes, SOON).toEqual(["+a", "+b"]);
      relay.cut();
      await change(ns, "a", { spec: { holderIdentity: "me" } });
      await create(ns, "gone");
      await remove(ns, "gone");
      await remove(ns, "b");
      await expect.poll(() => changes, SOON).toEqual(["+a", "+b", "~a", "+gone", "-gone", "-b"]);
    });

    test("holds what it has while it is cut off again and again", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      const { informer, relay, changes } = await follow(ns);
      for (const name of ["b", "c"]) {
        const before = relay.connections();
        relay.cut();
        await create(ns, name);
        expect(informer.get(`${ns}/a`)).toBeDefined();
        await expect.poll(() => relay.connections() > before, SOON).toBe(true);
      }
      await expect.poll(() => changes, SOON).toEqual(["+a", "+b", "+c"]);
    });

    test("with a selector follows objects into it and out of it", async () => {
      const ns = await server().namespace();
      await create(ns, "a");
      const { changes } = await follow(ns, "in=yes");
      await change(ns, "a", { metadata: { labels: { in: "yes" } } });
      await change(ns, "a", { metadata: { labels: { in: null } } });
      await expect.poll(() => changes, SOON).toEqual(["+a", "-a"]);
    });
  });
}
