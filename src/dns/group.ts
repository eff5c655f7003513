// DNS, the names of a group of servers: whoever serves together under one name in, that name and those of its ports out.

import { MOST_RECORDS, takeInTurns } from "./bound.ts";
import type { NameParts } from "./name.ts";
import { spellName } from "./name.ts";
import {
  type AddressSet,
  type NamedRecords,
  planAddressSets,
  type RecordSet,
} from "./recordSet.ts";
import {
  isPort,
  listPortNames,
  MOST_SERVERS,
  type Port,
  planServerSets,
  type Server,
} from "./srv.ts";

/** `choose` takes some of many: those that are to be answered with, of all or of those that have a port. */
export function listGroup<S extends Server>(
  name: Pick<NameParts, "namespace" | "service" | "scope">,
  servers: readonly S[],
  options: {
    /** Absent: the servers' own. */
    readonly ports?: readonly Port[];
    readonly choose?: (servers: readonly S[]) => readonly S[];
    /** SRV records at the names of all ports together. */
    readonly most?: number;
  } = {},
): readonly NamedRecords[] {
  const { choose = (all) => all, most = MOST_RECORDS } = options;
  const ports = listPortNames(options.ports === undefined ? servers : [{ ports: options.ports }]);
  const room = Math.max(1, Math.min(MOST_SERVERS, Math.floor(most / ports.length)));
  // All endpoints of a slice have the same list.
  const lists = [...new Set(servers.map((server) => server.ports))];
  const planAddresses = rememberAddressSets();
  return [
    { name: spellName(name), sets: listSets(choose(servers)) },
    ...ports.map((port): NamedRecords => {
      const having = new Set(lists.filter((list) => list.some((one) => isPort(one, port))));
      const all = choose(servers.filter((server) => having.has(server.ports)));
      const those = takeInTurns(all, room, { source: ({ cluster }) => cluster });
      // Like CoreDNS, a name of a port also has the addresses behind it.
      const sets = [...planAddresses(those), ...planServerSets(those, { port })];
      return { name: spellName({ ...name, port }), sets };
    }),
  ];
}

/** `most`: SRV records. */
export function listSets(servers: readonly Server[], most?: number): readonly RecordSet[] {
  return [
    ...planAddressSets(servers.map(({ address }) => address)),
    ...planServerSets(servers, { most }),
  ];
}

/** Ports mostly have the same servers: the very same sets are for all of them, and are rendered once. */
function rememberAddressSets(): (servers: readonly Server[]) => readonly AddressSet[] {
  const known: { readonly servers: readonly Server[]; readonly sets: readonly AddressSet[] }[] = [];
  return (servers) => {
    const twin = known.find((one) => isSameList(one.servers, servers));
    if (twin !== undefined) return twin.sets;
    const sets = planAddressSets(servers.map(({ address }) => address));
    known.push({ servers, sets });
    return sets;
  };
}

function isSameList(left: readonly Server[], right: readonly Server[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}
