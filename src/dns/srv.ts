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
  const offers = servers.flatMap((server) => listOffers(server, port));
  const weight = weigh(offers.length);
  const records = new Map<string, ServerSet["servers"][number]>();
  const additional = new Map<string, NamedAddress>();
  for (const { target, address, number } of offers) {
    if (number === undefined) continue;
    records.set(`${target} ${number}`, { weight, port: number, target });
    additional.set(`${target} ${address.words.join()}`, { name: target, address });
  }
  if (records.size === 0) return [];
  return [{ type: "SRV", servers: [...records.values()], additional: [...additional.values()] }];
}

interface Offer {
  readonly target: string;
  readonly address: Address;
  readonly number: number | undefined;
}

/** A server without ports still counts for the weights of the others. */
function listOffers({ target, address, ports }: Server, port?: PortName): readonly Offer[] {
  if (port === undefined && ports.length === 0) return [{ target, address, number: undefined }];
  return ports
    .filter((one) => port === undefined || isPort(one, port))
    .map(({ number }) => ({ target, address, number }));
}

/** A hundred shared among all, and never nothing. The same arithmetic as in CoreDNS, so that it rounds alike. */
function weigh(offers: number): number {
  return Math.max(1, Math.floor((100 / (100 * offers)) * 100));
}
