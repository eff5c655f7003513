// DNS, the names of a group of servers: whoever serves together under one name in, that name and those of its ports out.

import type { NameParts } from "./name.ts";
import { spellName } from "./name.ts";
import { type NamedRecords, planAddressSets, type RecordSet } from "./recordSet.ts";
import { hasPort, listPortNames, type PortName, planServerSets, type Server } from "./srv.ts";

/** `choose` takes some of many: those that are to be answered with, of all or of those that have a port. */
export function listGroup<S extends Server>(
  name: Pick<NameParts, "namespace" | "service" | "scope">,
  servers: readonly S[],
  options: {
    /** Absent: the servers' own. */
    readonly ports?: readonly PortName[];
    readonly choose?: (servers: readonly S[]) => readonly S[];
  } = {},
): readonly NamedRecords[] {
  const { ports = servers.flatMap((server) => server.ports), choose = (all) => all } = options;
  return [
    { name: spellName(name), sets: listSets(choose(servers)) },
    ...listPortNames(ports).map((port): NamedRecords => {
      const those = choose(servers.filter((server) => hasPort(server, port)));
      return { name: spellName({ ...name, port }), sets: listSets(those, port) };
    }),
  ];
}

/** Like CoreDNS, a name of a port also has the addresses behind it. */
export function listSets(servers: readonly Server[], port?: PortName): readonly RecordSet[] {
  const addresses = planAddressSets(servers.map(({ address }) => address));
  return [...addresses, ...planServerSets(servers, port)];
}
