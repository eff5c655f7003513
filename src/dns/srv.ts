// DNS, SRV: who serves which ports in, SRV records and the addresses of their targets out (R74–R76), as CoreDNS weighs them.

import type { Address } from "../core/address.ts";
import type { NamedAddress, ServerSet } from "./recordSet.ts";

export interface Port {
  /** Empty: the port has none, and no SRV name of its own (R75). */
  readonly name: string;
  readonly protocol: string;
  /** Undefined: whatever the client likes. */
  readonly number: number | undefined;
}

export type PortName = Pick<Port, "name" | "protocol">;

/**
 * At one name. More than fit into any message (65,535 bytes over TCP, some 50 each): without a bound, endpoints times ports are
 * what one cluster can make another hold.
 */
export const MOST_SERVERS = 2_048;

/** One address that serves. */
export interface Server {
  /** The name of this address, relative to the zone. */
  readonly target: string;
  readonly address: Address;
  readonly ports: readonly Port[];
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

export function hasPort(server: Server, port: PortName): boolean {
  return server.ports.some((one) => isPort(one, port));
}

function isPort(one: PortName, other: PortName): boolean {
  return one.name === other.name && one.protocol === other.protocol;
}

/** The ports that have an SRV name, each once. */
export function listPortNames(ports: readonly PortName[]): readonly PortName[] {
  const named = ports.filter(({ name }) => name !== "");
  const unique = new Map(named.map((port) => [`${port.name} ${port.protocol}`, port]));
  return [...unique.values()];
}

/**
 * Without a port: the records of all ports, one per target and number, whatever their protocols (R76). Nothing when there is no
 * port to name.
 */
export function planServerSets(servers: readonly Server[], port?: PortName): readonly ServerSet[] {
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
    if (records.length >= MOST_SERVERS) break;
  }
  return [{ type: "SRV", servers: records, additional: additional.slice(0, MOST_SERVERS) }];
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
