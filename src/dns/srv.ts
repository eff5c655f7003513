// DNS, SRV: who serves which ports in, SRV records and the addresses of their targets out (R74–R76), as CoreDNS weighs them.

import type { Address } from "../core/address.ts";
import { MOST_PORTS, takeInTurns } from "./bound.ts";
import type { NamedAddress, ServerSet } from "./recordSet.ts";

export interface Port {
  /** Empty: the port has none, and no SRV name of its own (R75). */
  readonly name: string;
  readonly protocol: string;
  /** Undefined: whatever the client likes. */
  readonly number: number | undefined;
}

export type PortName = Pick<Port, "name" | "protocol">;

/** At one name. More than fit into any message: 65,535 bytes over TCP, some 50 each. */
export const MOST_SERVERS = 2_048;

/** One address that serves. */
export interface Server {
  /** The name of this address, relative to the zone. */
  readonly target: string;
  readonly address: Address;
  readonly ports: readonly Port[];
  /** Whose it is; absent: that of all. */
  readonly cluster?: string;
}

/** As an import or a slice has it. Names are letters of either case in DNS, so one case is enough (R82). */
export function readPort(port: {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
}): Port {
  const { name = "", protocol = "TCP" } = port;
  return { name: name.toLowerCase(), protocol: protocol.toLowerCase(), number: port.port };
}

export function isPort(one: PortName, other: PortName): boolean {
  return one.name === other.name && one.protocol === other.protocol;
}

/** The ports that have an SRV name, each once. */
export function listPortNames(
  servers: readonly Pick<Server, "cluster" | "ports">[],
): readonly PortName[] {
  const offers = new Map<
    string,
    { readonly cluster: string; readonly key: string; readonly port: PortName }
  >();
  const seen = new Set<readonly Port[]>();
  for (const { cluster = "", ports } of servers) {
    // All endpoints of a slice have the same list.
    if (seen.has(ports)) continue;
    seen.add(ports);
    for (const port of ports) {
      const key = `${port.name} ${port.protocol}`;
      if (port.name !== "") offers.set(`${cluster} ${key}`, { cluster, key, port });
    }
  }
  const kept = takeInTurns([...offers.values()], MOST_PORTS, {
    source: ({ cluster }) => cluster,
    key: ({ key }) => key,
  });
  return [...new Map(kept.map(({ key, port }) => [key, port])).values()];
}

/**
 * Without a port: the records of all ports, one per target and number, whatever their protocols (R76). Nothing when there is no
 * port to name.
 */
export function planServerSets(
  all: readonly Server[],
  {
    port,
    most = MOST_SERVERS,
  }: { readonly port?: PortName; readonly most?: number | undefined } = {},
): readonly ServerSet[] {
  const servers = port === undefined ? takeServers(all, most) : all;
  let offers = 0;
  const targets = new Map<string, Target>();
  for (const { target, address, ports } of servers) {
    const those = port === undefined ? ports : ports.filter((one) => isPort(one, port));
    // One without ports still counts for the weights of the others.
    offers += port === undefined && ports.length === 0 ? 1 : those.length;
    for (const { number } of those) {
      if (number === undefined) continue;
      const known = targets.get(target);
      if (known === undefined) targets.set(target, { numbers: [number], addresses: [address] });
      else addTo(known, number, address);
    }
  }
  if (targets.size === 0) return [];
  const weight = weigh(offers);
  const records: ServerSet["servers"][number][] = [];
  const additional: NamedAddress[] = [];
  for (const [target, { numbers, addresses }] of targets) {
    for (const number of numbers) records.push({ weight, port: number, target });
    for (const address of addresses) additional.push({ name: target, address });
    if (records.length >= most) break;
  }
  return [
    { type: "SRV", servers: records.slice(0, most), additional: additional.slice(0, MOST_SERVERS) },
  ];
}

/** As many as there is room for with all their ports. */
function takeServers(all: readonly Server[], most: number): readonly Server[] {
  const offers = all.reduce((sum, { ports }) => sum + ports.length, 0);
  if (offers <= most) return all;
  const room = Math.max(1, Math.floor((most * all.length) / offers));
  return takeInTurns(all, room, { source: ({ cluster }) => cluster });
}

interface Target {
  readonly numbers: number[];
  readonly addresses: Address[];
  /** Numbers, and addresses as text, from the second on: most targets have one of each. */
  seen?: Set<number | string>;
}

/** Mostly few. But nothing keeps a cluster from giving ten thousand endpoints one name: no list is searched for each of them. */
function addTo(target: Target, number: number, address: Address): void {
  const { numbers, addresses } = target;
  target.seen ??= new Set([...numbers, ...addresses.map(keyOf)]);
  const { seen } = target;
  const key = keyOf(address);
  if (!seen.has(number)) numbers.push(number);
  if (!seen.has(key)) addresses.push(address);
  seen.add(number).add(key);
}

/** Of one word or four, so no address of one family is one of the other. */
function keyOf(address: Address): string {
  return address.words.join();
}

/** A hundred shared among all, and never nothing. The same arithmetic as in CoreDNS, so that it rounds alike. */
function weigh(offers: number): number {
  return Math.max(1, Math.floor((100 / (100 * offers)) * 100));
}
