// Trust suite: what the hub lets a member write, and importers do not believe. Through the agents' own hub adapter, each
// side with its own credential.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpointShareName, serviceShareName } from "../../src/api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { type ClusterId, type ServiceKey, serviceKey } from "../../src/api/names.ts";
import { createKubernetesHub, type KubernetesHub } from "../../src/hub/kubernetes.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { anEndpointShare, aServiceShare } from "./attacks.ts";
import { aCluster, type TrustHub, type TrustMember } from "./trustHub.ts";

const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => QUIET,
};

const LIMITS = { sharesPerService: 2, services: 1_000, shares: 1_000, endpoints: 10_000 };
const IMPORTER_SERVICES = ["10.103.0.0/16", "fd00:103::/112"];
const SOURCE_SERVICES = ["10.104.0.0/16"];
const FINE = { IPv4: "10.1.2.3", IPv6: "fd00:1::2" } as const;

export function testImporterAttacks(hubOf: () => TrustHub): void {
  let trust: TrustHub;
  /** Declared to have every address there is: what is refused is refused whatever an administrator was talked into. */
  let wide: TrustMember;
  let narrow: TrustMember;
  let importer: TrustMember;
  let hub: KubernetesHub;

  beforeAll(async () => {
    trust = hubOf();
    wide = await trust.member(aCluster(), {
      podCIDRs: ["0.0.0.0/0", "::/0"],
      serviceCIDRs: SOURCE_SERVICES,
    });
    narrow = await trust.member(aCluster(), { podCIDRs: ["10.1.0.0/16", "fd00:1::/64"] });
    importer = await trust.member(aCluster(), {
      podCIDRs: ["10.3.0.0/16"],
      serviceCIDRs: IMPORTER_SERVICES,
    });
    hub = createKubernetesHub({
      cluster: importer.cluster,
      store: importer.client,
      clock: systemClock,
      random: systemRandom,
      log: QUIET,
      limits: LIMITS,
    });
    await hub.whenSynced();
  });
  afterAll(() => hub.stop());

  const newService = () => serviceKey({ namespace: unique("shop-"), name: "web" });

  async function share(member: TrustMember, service: ServiceKey, spec = {}): Promise<void> {
    const name = serviceShareName(service);
    await member.client.create(SERVICE_SHARE, aServiceShare(member.namespace, { name }, spec));
  }

  async function shareSlice(
    member: TrustMember,
    service: ServiceKey,
    addresses: readonly string[],
    options: { readonly slice?: string; readonly named?: string } = {},
  ): Promise<void> {
    const { slice = "web-abc", named = slice } = options;
    const name = endpointShareName(service, named);
    const object = anEndpointShare(member.namespace, addresses, { name });
    await member.client.create(ENDPOINT_SHARE, { ...object, spec: { ...object.spec, slice } });
  }

  function addressesOf(service: ServiceKey, cluster: ClusterId): readonly string[] {
    return hub
      .contributions(service)
      .filter((each) => each.share.cluster === cluster)
      .flatMap(({ endpoints }) => endpoints)
      .flatMap(({ endpoints }) => endpoints)
      .flatMap(({ addresses }) => addresses);
  }

  /** Who was refused what, once the importer has the share. */
  function seen(service: ServiceKey, cluster: ClusterId, addresses: readonly string[]) {
    return eventually("the importer has read the share", () => {
      expect(addressesOf(service, cluster)).toEqual(addresses);
      return hub.rejections(service).map((each) => `${each.cluster} ${each.reason} ${each.count}`);
    });
  }

  describe("addresses that importers do not take from a member", () => {
    test.each([
      ["loopback", "127.0.0.1"],
      ["loopback by another number", "127.8.9.10"],
      ["link-local, where clouds keep their metadata", "169.254.169.254"],
      ["multicast", "224.0.0.1"],
      ["unspecified", "0.0.0.0"],
      ["broadcast", "255.255.255.255"],
      ["loopback in IPv6", "::1"],
      ["loopback of IPv4 in IPv6", "::ffff:127.0.0.1"],
      ["link-local in IPv6", "fe80::1"],
      ["multicast in IPv6", "ff02::1"],
      ["no address", "example.com"],
    ])("%s, though everything is declared", async (_, address) => {
      const service = newService();
      const fine = address.includes(":") ? FINE.IPv6 : FINE.IPv4;
      await share(wide, service);
      await shareSlice(wide, service, [fine, address]);
      expect(await seen(service, wide.cluster, [fine])).toEqual([
        `${wide.cluster} AddressForbidden 1`,
      ]);
    });

    test.each([
      ["the importing cluster's own Services", "10.103.0.10"],
      ["the importing cluster's own Services in IPv6", "fd00:103::a"],
      ["the Services of the source, which are something else elsewhere", "10.104.0.1"],
    ])("%s, though everything is declared", async (_, address) => {
      const service = newService();
      const fine = address.includes(":") ? FINE.IPv6 : FINE.IPv4;
      await share(wide, service);
      await shareSlice(wide, service, [fine, address]);
      expect(await seen(service, wide.cluster, [fine])).toEqual([
        `${wide.cluster} AddressInServiceRange 1`,
      ]);
    });

    test.each([
      ["another member's pod", "10.3.0.7"],
      ["a neighbour of its own range", "10.2.0.0"],
      ["a public address", "192.0.2.1"],
      ["another range in IPv6", "fd00:2::1"],
    ])("%s, outside what is declared", async (_, address) => {
      const service = newService();
      const fine = address.includes(":") ? FINE.IPv6 : FINE.IPv4;
      await share(narrow, service);
      await shareSlice(narrow, service, [address, fine]);
      expect(await seen(service, narrow.cluster, [fine])).toEqual([
        `${narrow.cluster} AddressNotDeclared 1`,
      ]);
    });
  });

  describe("words that importers do not take from a member", () => {
    test("the name of another cluster: a share is of the namespace that it lies in", async () => {
      const service = newService();
      await share(narrow, service, { cluster: wide.cluster, service: "kube-system/kubernetes" });
      await shareSlice(narrow, service, [FINE.IPv4]);
      expect(await seen(service, narrow.cluster, [FINE.IPv4])).toEqual([]);
      const contributions = hub.contributions(service);
      expect(contributions.map((each) => each.share.cluster)).toEqual([narrow.cluster]);
      expect(contributions.map((each) => each.share.service)).toEqual([service]);
    });

    test("a slice under the name of another", async () => {
      const service = newService();
      await share(narrow, service);
      await shareSlice(narrow, service, [FINE.IPv4]);
      await shareSlice(narrow, service, ["10.1.9.9"], { slice: "web-abc", named: "web-def" });
      const rejections = await eventually("the importer has read both", () => {
        const found = hub.rejections(service);
        expect(found).toHaveLength(1);
        return found;
      });
      expect(rejections).toMatchObject([{ cluster: narrow.cluster, reason: "Malformed" }]);
      expect(addressesOf(service, narrow.cluster)).toEqual([FINE.IPv4]);
    });

    test("more annotations than an import can carry", async () => {
      const service = newService();
      const entries = Array.from({ length: 64 }, (_, index) => [`key-${index}`, "v".repeat(4_096)]);
      await share(narrow, service, { annotations: Object.fromEntries(entries) });
      await shareSlice(narrow, service, [FINE.IPv4]);
      const [rejection] = await seen(service, narrow.cluster, [FINE.IPv4]);
      expect(rejection).toMatch(`${narrow.cluster} Malformed`);
      expect(hub.contributions(service)[0]!.share.annotations).toBeUndefined();
    });

    test("more slices of one service than the limit", async () => {
      const service = newService();
      await share(narrow, service);
      for (const slice of ["a", "b", "c"]) {
        await shareSlice(narrow, service, [`10.1.0.${slice.charCodeAt(0)}`], { slice });
      }
      await eventually("the importer has read all", () => {
        expect(hub.rejections(service)).toMatchObject([{ reason: "TooMany", count: 1 }]);
      });
      expect(addressesOf(service, narrow.cluster)).toEqual(["10.1.0.97", "10.1.0.98"]);
    });
  });
}
