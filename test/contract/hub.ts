// Contract suite of the Hub port: what exporter, importer and liveness rely on, whoever the hub is. src/hub/*.test.ts and
// test/hub.real.test.ts call it with theirs. How often one change is told is not part of it: at least once, and not for
// ever.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClusterId, type ServiceKey, serviceKey } from "../../src/api/names.ts";
import type { Contribution } from "../../src/api/share.ts";
import type { Hub } from "../../src/ports/hub.ts";
import { aContribution, aShare } from "../shares.ts";

export interface HubUnderTest {
  /** Makes it a member. Answers the hub as that cluster uses it, once that has been read. */
  join(cluster: ClusterId): Promise<Hub>;
  /** It is a member no more, whether it said so or not. */
  remove(cluster: ClusterId): Promise<void>;
  /** Tried until it holds. */
  eventually(sentence: string, assertion: () => void): Promise<void>;
  /** On the clock by which members are silent. */
  monotonic(): number;
  /** A cluster id that nobody else uses. */
  uniqueId(name: string): ClusterId;
  close(): Promise<void>;
}

interface Joined {
  readonly cluster: ClusterId;
  readonly hub: Hub;
  readonly heard: string[];
}

export function runHubContract(open: () => Promise<HubUnderTest>): void {
  describe("the contract of a hub", () => {
    let world: HubUnderTest;
    let services = 0;
    beforeAll(async () => {
      world = await open();
    });
    afterAll(async () => {
      await world.close();
    });

    async function join(name: string): Promise<Joined> {
      const cluster = world.uniqueId(name);
      const hub = await world.join(cluster);
      const heard: string[] = [];
      hub.subscribe({
        onService: (service) => heard.push(service),
        onDoubt: (service) => heard.push(`doubt ${service}`),
        onMembers: () => heard.push("members"),
      });
      return { cluster, hub, heard };
    }
    /** Everybody has heard of everybody. */
    async function joinTwo(): Promise<readonly [Joined, Joined]> {
      const both = [await join("east"), await join("west")] as const;
      await world.eventually("each knows the other", () => {
        for (const { hub } of both) {
          for (const { cluster } of both) expect(memberOf(hub, cluster)).toBeDefined();
        }
      });
      return both;
    }
    function newService(): ServiceKey {
      services += 1;
      return serviceKey({ namespace: world.uniqueId("shop"), name: `web-${services}` });
    }
    async function expectShares(hub: Hub, service: ServiceKey, wanted: readonly Contribution[]) {
      await world.eventually("the shares are there", () => {
        expect(hub.contributions(service)).toEqual(inOrder(wanted));
      });
    }
    /** When this has come through, everything said before it has. */
    async function flush(from: Joined, to: Joined): Promise<void> {
      const share = shareOf(from, newService());
      await from.hub.publish(share);
      await expectShares(to.hub, share.share.service, [share]);
      await from.hub.withdraw(from.cluster, share.share.service);
      await expectShares(to.hub, share.share.service, []);
    }

    describe("members", () => {
      test("are known to each other, and nobody is a stranger", async () => {
        const [east, west] = await joinTwo();
        expect(east.hub.hasStrangers()).toBe(false);
        expect(west.hub.hasStrangers()).toBe(false);
      });

      test("are told of newcomers", async () => {
        const east = await join("east");
        east.heard.length = 0;
        const west = await join("west");
        await world.eventually("it heard of it", () => {
          expect(east.heard).toContain("members");
          expect(memberOf(east.hub, west.cluster)).toBeDefined();
        });
      });

      test("are incomplete until they have published all they have, which is told", async () => {
        const [east, west] = await joinTwo();
        expect(memberOf(west.hub, east.cluster)?.isComplete).toBe(false);
        west.heard.length = 0;
        await east.hub.completeSync(east.cluster);
        await east.hub.completeSync(east.cluster);
        await world.eventually("it is complete", () => {
          expect(memberOf(west.hub, east.cluster)?.isComplete).toBe(true);
          expect(west.heard).toContain("members");
        });
        expect(memberOf(west.hub, west.cluster)?.isComplete).toBe(false);
      });

      test("R66: are silent since they were last heard, by the listener's own clock", async () => {
        const [east, west] = await joinTwo();
        const heardAt = (cluster: ClusterId) =>
          world.monotonic() - memberOf(west.hub, cluster)!.silentMs;
        const before = { east: heardAt(east.cluster), west: heardAt(west.cluster) };
        await world.eventually("time goes by", () => {
          expect(memberOf(west.hub, east.cluster)!.silentMs).toBeGreaterThan(20);
        });
        await east.hub.heartbeat(east.cluster);
        await world.eventually("it was heard", () => {
          expect(heardAt(east.cluster)).toBeGreaterThan(before.east + 10);
        });
        expect(heardAt(west.cluster)).toBeLessThan(before.west + 10);
      });

      test("are drained from when they say so until they say that they are not, for themselves at once", async () => {
        const [east, west] = await joinTwo();
        const seen = (hub: Hub) => [
          memberOf(hub, east.cluster)?.isDrained,
          hub.isDrained(east.cluster),
        ];
        expect(seen(west.hub)).toEqual([false, false]);
        east.hub.noteDrain(east.cluster, "new kernel");
        east.hub.noteDrain(east.cluster, "new kernel");
        expect(seen(east.hub)).toEqual([true, true]);
        await world.eventually("the other knows", () =>
          expect(seen(west.hub)).toEqual([true, true]),
        );
        expect(west.hub.isDrained(west.cluster)).toBe(false);
        east.hub.noteDrain(east.cluster, undefined);
        expect(seen(east.hub)).toEqual([false, false]);
        await world.eventually("the other knows that it is over", () =>
          expect(seen(west.hub)).toEqual([false, false]),
        );
      });

      test("stay drained, and complete, whichever they said first", async () => {
        const [east, west] = await joinTwo();
        east.hub.noteDrain(east.cluster, "new kernel");
        await east.hub.completeSync(east.cluster);
        west.hub.noteDrain(west.cluster, "new kernel");
        await world.eventually("both are said", () => {
          const expected = { isComplete: true, isDrained: true };
          expect(memberOf(west.hub, east.cluster)).toMatchObject(expected);
          expect(memberOf(east.hub, west.cluster)?.isDrained).toBe(true);
        });
        await west.hub.completeSync(west.cluster);
        east.hub.noteDrain(east.cluster, undefined);
        await world.eventually("and neither undoes the other", () => {
          expect(memberOf(east.hub, west.cluster)).toMatchObject({
            isComplete: true,
            isDrained: true,
          });
          expect(memberOf(west.hub, east.cluster)).toMatchObject({
            isComplete: true,
            isDrained: false,
          });
        });
      });

      test("R67: who is removed is no member any more, and what it shared goes with it", async () => {
        const [east, west] = await joinTwo();
        const third = await join("north");
        const service = newService();
        await east.hub.publish(shareOf(east, service));
        await west.hub.publish(shareOf(west, service));
        await expectShares(third.hub, service, [shareOf(east, service), shareOf(west, service)]);
        third.heard.length = 0;
        await world.remove(east.cluster);
        await world.eventually("it is gone", () => {
          expect(memberOf(third.hub, east.cluster)).toBeUndefined();
          expect(third.hub.contributions(service)).toEqual([shareOf(west, service)]);
          expect(third.heard).toContain("members");
        });
      });

      test("cannot speak for a cluster that is none", async () => {
        const { hub } = await join("east");
        const stranger = world.uniqueId("stranger");
        const service = newService();
        const share = aContribution(aShare(stranger, { service }));
        await expect(hub.publish(share)).rejects.toThrow(stranger);
        await expect(hub.withdraw(stranger, service)).rejects.toThrow(stranger);
        await expect(hub.completeSync(stranger)).rejects.toThrow(stranger);
        await expect(hub.heartbeat(stranger)).rejects.toThrow(stranger);
        expect(() => hub.noteDrain(stranger, "new kernel")).toThrow(stranger);
        expect(hub.contributions(service)).toEqual([]);
        expect([...hub.services()]).not.toContain(service);
      });
    });

    describe("shares", () => {
      test("R49: of all clusters meet, and read the same everywhere", async () => {
        const [east, west] = await joinTwo();
        const service = newService();
        const shares = [shareOf(east, service, ["10.0.0.1", "fd00::1"]), shareOf(west, service)];
        await east.hub.publish(shares[0]!);
        await west.hub.publish(shares[1]!);
        for (const { hub, heard } of [east, west]) {
          await expectShares(hub, service, shares);
          expect(hub.rejections(service)).toEqual([]);
          expect([...hub.services()]).toContain(service);
          expect(heard).toContain(service);
        }
      });

      test("are known at home from the call on", async () => {
        const east = await join("east");
        const share = shareOf(east, newService());
        const publishing = east.hub.publish(share);
        expect(east.hub.contributions(share.share.service)).toEqual([share]);
        expect(east.heard).toContain(share.share.service);
        await publishing;
        const withdrawing = east.hub.withdraw(east.cluster, share.share.service);
        expect(east.hub.contributions(share.share.service)).toEqual([]);
        await withdrawing;
      });

      test("published once more are not told again", async () => {
        const [east, west] = await joinTwo();
        const share = shareOf(east, newService());
        await east.hub.publish(share);
        await flush(east, west);
        await flush(west, east);
        const told = () => [east, west].map(({ heard }) => countOf(heard, share.share.service));
        const before = told();
        await east.hub.publish(structuredClone(share));
        await flush(east, west);
        await flush(west, east);
        expect(told()).toEqual(before);
      });

      test("that changed are told, and replace what was there", async () => {
        const [east, west] = await joinTwo();
        const service = newService();
        await east.hub.publish(shareOf(east, service, ["10.0.0.1", "fd00::1"]));
        await expectShares(west.hub, service, [shareOf(east, service, ["10.0.0.1", "fd00::1"])]);
        west.heard.length = 0;
        await east.hub.publish(shareOf(east, service, ["10.0.0.2"]));
        await expectShares(west.hub, service, [shareOf(east, service, ["10.0.0.2"])]);
        expect(west.heard).toContain(service);
        await expectShares(east.hub, service, [shareOf(east, service, ["10.0.0.2"])]);
      });

      test("may have no endpoints", async () => {
        const [east, west] = await joinTwo();
        const share = shareOf(east, newService(), []);
        await east.hub.publish(share);
        await expectShares(west.hub, share.share.service, [share]);
        expect(west.hub.rejections(share.share.service)).toEqual([]);
      });

      test("R10: withdrawn are gone, those of others stay", async () => {
        const [east, west] = await joinTwo();
        const service = newService();
        await east.hub.publish(shareOf(east, service));
        await west.hub.publish(shareOf(west, service));
        await expectShares(west.hub, service, [shareOf(east, service), shareOf(west, service)]);
        await expectShares(east.hub, service, [shareOf(east, service), shareOf(west, service)]);
        west.heard.length = 0;
        await east.hub.withdraw(east.cluster, service);
        await expectShares(west.hub, service, [shareOf(west, service)]);
        await expectShares(east.hub, service, [shareOf(west, service)]);
        expect(west.heard).toContain(service);
        await west.hub.withdraw(west.cluster, service);
        await world.eventually("nobody shares it", () => {
          for (const { hub } of [east, west]) expect([...hub.services()]).not.toContain(service);
        });
      });

      test("withdrawn may be published again", async () => {
        const [east, west] = await joinTwo();
        const share = shareOf(east, newService());
        const { service } = share.share;
        await east.hub.publish(share);
        await east.hub.withdraw(east.cluster, service);
        await east.hub.publish(share);
        await flush(east, west);
        await expectShares(west.hub, service, [share]);
        expect(east.hub.contributions(service)).toEqual([share]);
      });

      test("R10: withdrawing what is not there tells nobody", async () => {
        const [east, west] = await joinTwo();
        const service = newService();
        await east.hub.withdraw(east.cluster, service);
        await flush(east, west);
        expect(east.heard).not.toContain(service);
        expect(west.heard).not.toContain(service);
      });

      test("that the hub holds are known for each cluster, at once where they were published", async () => {
        const [east, west] = await joinTwo();
        const service = newService();
        await east.hub.publish(shareOf(east, service));
        expect(east.hub.published(east.cluster).has(service)).toBe(true);
        expect(east.hub.isPublished(east.cluster, service)).toBe(true);
        await world.eventually("the others know it too", () => {
          expect(west.hub.published(east.cluster).has(service)).toBe(true);
        });
        expect(west.hub.published(west.cluster).has(service)).toBe(false);
        await east.hub.withdraw(east.cluster, service);
        expect(east.hub.published(east.cluster).has(service)).toBe(false);
        expect(east.hub.isPublished(east.cluster, service)).toBe(false);
      });

      test("of a service that nobody shares are none", async () => {
        const { hub } = await join("east");
        const service = newService();
        expect(hub.contributions(service)).toEqual([]);
        expect(hub.rejections(service)).toEqual([]);
      });
    });

    test("who stops listening hears nothing more", async () => {
      const [east, west] = await joinTwo();
      const heard: string[] = [];
      const stop = west.hub.subscribe({
        onService: (service) => heard.push(service),
        onDoubt: (service) => heard.push(`doubt ${service}`),
        onMembers: () => heard.push("members"),
      });
      stop();
      await east.hub.completeSync(east.cluster);
      await flush(east, west);
      expect(heard).toEqual([]);
    });
  });
}

function memberOf(hub: Hub, cluster: ClusterId) {
  return hub.members().find((member) => member.cluster === cluster);
}

function shareOf(
  { cluster }: Joined,
  service: ServiceKey,
  addresses?: readonly string[],
): Contribution {
  return aContribution(aShare(cluster, { service }), addresses);
}

function inOrder(shares: readonly Contribution[]): readonly Contribution[] {
  return shares.toSorted((a, b) => (a.share.cluster < b.share.cluster ? -1 : 1));
}

function countOf(heard: readonly string[], service: ServiceKey): number {
  return heard.filter((text) => text === service).length;
}
