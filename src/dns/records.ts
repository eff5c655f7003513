// DNS, what exists: one service, namespace or zone in, the record sets of its names out (N1–N9, R72–R80). Plain data relative to
// the zone, in a stable order; knows nothing of bytes.

import type { EndpointSlice } from "../api/builtin.ts";
import type { ServiceImport } from "../api/mcs.ts";
import { parseAddress } from "../core/address.ts";
import { MOST_RECORDS } from "./bound.ts";
import {
  chooseNear,
  listReadyAddresses,
  type Place,
  type ReadyAddress,
  type ServiceName,
} from "./endpoint.ts";
import { listGroup, listSets } from "./group.ts";
import { isPlainLabel, spellName } from "./name.ts";
import { type NamedRecords, planAddressSets } from "./recordSet.ts";
import { listScoped } from "./scoped.ts";
import { MOST_SERVERS, type Port, readPort } from "./srv.ts";

export type { Place };

export interface ZoneOptions {
  /** "clusterset.local"; the first is the main one; every zone has the same content. */
  readonly zones: readonly string[];
  readonly ttlSeconds: number;
  readonly headless: "all" | "near";
  /** Where the clients of this server are. */
  readonly here: Place;
  readonly regionOf: (cluster: string) => string | undefined;
  /** Addresses of the zone's name server `ns.dns.<zone>`. */
  readonly nsAddresses?: readonly string[];
}

export interface ServiceObjects {
  readonly serviceImport: ServiceImport;
  /** All slices with the label multicluster.kubernetes.io/service-name of this import, in its namespace. */
  readonly slices: readonly EndpointSlice[];
}

const NAME_SERVER = "ns.dns";
/** Version of the schema, and how long it may be remembered (N1). */
const SCHEMA_VERSION = { text: "1.0.0", ttlSeconds: 28_800 } as const;

/** What there is whatever services there are. SOA is added to the zone itself when it is asked for: it has the serial. */
export function listZoneRecords({ nsAddresses = [] }: ZoneOptions): readonly NamedRecords[] {
  const addresses = nsAddresses.flatMap((text) => parseAddress(text) ?? []);
  const additional = addresses.map((address) => ({ name: NAME_SERVER, address }));
  return [
    { name: "", sets: [{ type: "NS", target: NAME_SERVER, additional }] },
    { name: NAME_SERVER, sets: planAddressSets(addresses) },
    { name: "dns", sets: [] },
    { name: "dns-version", sets: [{ type: "TXT", ...SCHEMA_VERSION }] },
    { name: "svc", sets: [] },
  ];
}

/** There while the namespace is, with or without services (R79). */
export function listNamespaceRecords(namespace: string): readonly NamedRecords[] {
  return [{ name: spellName({ namespace }), sets: [] }];
}

export function listServiceRecords(
  { serviceImport, slices }: ServiceObjects,
  options: ZoneOptions,
): readonly NamedRecords[] {
  const { namespace = "", name: service = "" } = serviceImport.metadata;
  // With a dot in it, it would be taken for a service of another name: such a name means nothing in the schema.
  if (!isPlainLabel(service) || !isPlainLabel(namespace)) return [];
  const name = { namespace, service };
  if (serviceImport.spec?.type !== "Headless") return listClusterSetIP(name, serviceImport);
  return listHeadless(name, listReadyAddresses(name, slices, options.regionOf), options);
}

/** Answers with its IPs whether or not anybody is behind them (R78), and without ports too. */
function listClusterSetIP(name: ServiceName, { spec }: ServiceImport): readonly NamedRecords[] {
  const ports = (spec?.ports ?? []).map(readPort);
  const target = spellName(name);
  const servers = (spec?.ips ?? []).flatMap((text) => {
    const address = parseAddress(text);
    return address === undefined ? [] : [{ target, address, ports }];
  });
  return listGroup(name, servers, { ports });
}

/** Nothing of it exists while none of its endpoints is ready (R78). */
function listHeadless(
  name: ServiceName,
  addresses: readonly ReadyAddress[],
  { headless, here }: ZoneOptions,
): readonly NamedRecords[] {
  if (addresses.length === 0) return [];
  const choose =
    headless === "all"
      ? (all: readonly ReadyAddress[]) => all
      : (all: readonly ReadyAddress[]) => chooseNear(all, here);
  return [
    ...listGroup(name, addresses, { choose }),
    ...listPods(addresses),
    ...listScoped(name, addresses),
  ];
}

/** Every ready endpoint by its own name, near or not: whoever asks for one by name means that one (N6). */
function listPods(addresses: readonly ReadyAddress[]): readonly NamedRecords[] {
  const pods = new Map<string, ReadyAddress[]>();
  for (const address of addresses) {
    const pod = pods.get(address.target);
    if (pod === undefined) pods.set(address.target, [address]);
    else pod.push(address);
  }
  const most = Math.min(MOST_SERVERS, Math.floor(MOST_RECORDS / pods.size));
  const spellPorts = rememberPorts();
  return Array.from(pods, ([name, those]) => {
    const offers = those.reduce((sum, { ports }) => sum + ports.length, 0);
    const about = those.flatMap(({ address, ports }) => [...address.words, spellPorts(ports)]);
    return {
      name,
      // How many there may be is of no matter to one that has fewer: it changes with every endpoint that comes or goes.
      content: [Math.min(most, offers), ...about],
      get sets() {
        return listSets(those, most);
      },
    };
  });
}

/** All endpoints of a slice have the same list. */
function rememberPorts(): (ports: readonly Port[]) => string {
  const known = new Map<readonly Port[], string>();
  return (ports) => {
    const text = known.get(ports) ?? JSON.stringify(ports);
    known.set(ports, text);
    return text;
  };
}
