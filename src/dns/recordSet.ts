// DNS, the shape of records between what exists and how it is said: names are text relative to the zone, data is plain.

import type { Address } from "../core/address.ts";

export interface NamedAddress {
  readonly name: string;
  readonly address: Address;
}

export interface AddressSet {
  readonly type: "A" | "AAAA";
  readonly addresses: readonly Address[];
}

export interface ServerSet {
  readonly type: "SRV";
  readonly servers: readonly {
    readonly weight: number;
    readonly port: number;
    readonly target: string;
  }[];
  readonly additional: readonly NamedAddress[];
}

export interface TextSet {
  readonly type: "TXT";
  readonly text: string;
  readonly ttlSeconds: number;
}

export interface NameServerSet {
  readonly type: "NS";
  readonly target: string;
  readonly additional: readonly NamedAddress[];
}

export type RecordSet = AddressSet | ServerSet | TextSet | NameServerSet;

export interface NamedRecords {
  /** Relative to the zone; empty: the zone itself. */
  readonly name: string;
  /** Empty: the name exists and has no records. */
  readonly sets: readonly RecordSet[];
  /** All that the sets are made of: with the same they are the same, and need not even be made. */
  readonly content?: readonly (number | string)[];
}

/** One set per family that is there, each address once, in the order given. */
export function planAddressSets(addresses: readonly Address[]): readonly AddressSet[] {
  const unique = new Map(addresses.map((address) => [address.words.join(), address]));
  const all = [...unique.values()];
  return (["A", "AAAA"] as const).flatMap((type): AddressSet[] => {
    const family = type === "A" ? "IPv4" : "IPv6";
    const some = all.filter((address) => address.family === family);
    return some.length === 0 ? [] : [{ type, addresses: some }];
  });
}
