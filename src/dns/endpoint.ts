// DNS, who answers: the EndpointSlices of one service in, its ready addresses out, and which of them are near. Plain data in an
// order that does not depend on that of the slices.

import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import { SOURCE_CLUSTER_LABEL } from "../api/names.ts";
import { type Address, parseAddress } from "../core/address.ts";
import { compareText } from "../core/order.ts";
import { MOST_ADDRESSES, takeInTurns } from "./bound.ts";
import { isPlainLabel, spellName } from "./name.ts";
import { readPort, type Server } from "./srv.ts";

export interface Place {
  readonly cluster?: string;
  readonly zone?: string;
  readonly region?: string;
}

/** One ready address of an endpoint. Its target is the endpoint's own name (N6). */
export interface ReadyAddress extends Server {
  readonly cluster: string;
  readonly zone: string | undefined;
  readonly region: string | undefined;
}

export interface ServiceName {
  readonly namespace: string;
  readonly service: string;
}

/** Slices that do not say whose they are, or hold names instead of addresses, are nothing that can be answered. */
export function listReadyAddresses(
  name: ServiceName,
  slices: readonly EndpointSlice[],
  regionOf: (cluster: string) => string | undefined,
): readonly ReadyAddress[] {
  const ready = slices
    .flatMap((slice): readonly Found[] => {
      const cluster = slice.metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "";
      if (cluster === "" || slice.addressType === "FQDN") return [];
      const region = regionOf(cluster);
      const ports = (slice.ports ?? []).map(readPort);
      return (slice.endpoints ?? []).filter(isReady).flatMap(({ addresses, hostname, zone }) =>
        addresses.flatMap((text): Found | [] => {
          const address = parseAddress(text);
          if (address === undefined) return [];
          return { host: nameHost(hostname, text), address, ports, cluster, zone, region };
        }),
      );
    })
    .sort(
      (a, b) =>
        compareText(a.cluster, b.cluster) ||
        compareAddresses(a.address, b.address) ||
        compareText(a.host, b.host),
    );
  return takeSome(ready).map(({ host, ...rest }) => {
    const target = spellName({ ...name, endpoint: { host, cluster: rest.cluster } });
    return { target, ...rest };
  });
}

type Found = Omit<ReadyAddress, "target"> & { readonly host: string };

/** Of each family as many as there may be: one that has many does not leave the other without an answer. */
function takeSome(all: readonly Found[]): readonly Found[] {
  if (all.length <= MOST_ADDRESSES) return all;
  const kept = new Set(
    (["IPv4", "IPv6"] as const).flatMap((family) => {
      const those = all.filter(({ address }) => address.family === family);
      return takeInTurns(those, MOST_ADDRESSES, { source: ({ cluster }) => cluster });
    }),
  );
  return all.filter((one) => kept.has(one));
}

/** Unknown counts as ready (R73). */
function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true;
}

/** Its hostname, else a name made of the address as CoreDNS makes it (R72). */
function nameHost(hostname: string | undefined, address: string): string {
  if (hostname !== undefined && isPlainLabel(hostname)) return hostname;
  const dashed = address.replaceAll(/[.:]/g, "-");
  return dashed.endsWith("-") ? `${dashed}0` : dashed;
}

/** IPv4 first; numbers, not text: 10.0.0.9 comes before 10.0.0.10. */
function compareAddresses(a: Address, b: Address): number {
  if (a.words.length !== b.words.length) return a.words.length - b.words.length;
  for (let at = 0; at < a.words.length; at += 1) {
    const difference = ((a.words[at] ?? 0) >>> 0) - ((b.words[at] ?? 0) >>> 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Where these clients should go first: their own cluster, else their zone, else their region, else anywhere. The first of these
 * that has an endpoint is taken whole, for both address families alike (R73).
 */
export function chooseNear(all: readonly ReadyAddress[], here: Place): readonly ReadyAddress[] {
  for (const level of ["cluster", "zone", "region"] as const) {
    const mine = here[level] ?? "";
    const tier = mine === "" ? [] : all.filter((one) => one[level] === mine);
    if (tier.length > 0) return tier;
  }
  return all;
}
