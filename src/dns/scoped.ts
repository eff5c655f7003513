// DNS, our own extension: the endpoints of a headless service in, the names of those in one topology zone or region out:
//   <service>.<namespace>.svc.<topology zone>._zone        and        <service>.<namespace>.svc.<region>._region

import { MOST_RECORDS, MOST_SCOPED_PORTS, takeInTurns } from "./bound.ts";
import type { ReadyAddress, ServiceName } from "./endpoint.ts";
import { listGroup } from "./group.ts";
import { isPlainLabel, type Scope, spellName } from "./name.ts";
import type { NamedRecords } from "./recordSet.ts";
import { listPortNames } from "./srv.ts";

/** Places that are not one label, which Kubernetes allows, have no name here. */
export function listScoped(
  name: ServiceName,
  addresses: readonly ReadyAddress[],
): readonly NamedRecords[] {
  const ports = Math.max(1, listPortNames(addresses).length);
  return (
    [
      ["_zone", "zone"],
      ["_region", "region"],
    ] as const
  ).flatMap(([kind, level]) => {
    const members = new Map<string, ReadyAddress[]>();
    for (const address of addresses) {
      const value = address[level]?.toLowerCase() ?? "";
      if (!isPlainLabel(value)) continue;
      const group = members.get(value);
      if (group === undefined) members.set(value, [address]);
      else group.push(address);
    }
    const places = takePlaces(members, Math.floor(MOST_SCOPED_PORTS / ports));
    const most = Math.floor(MOST_RECORDS / places.length);
    return places.flatMap(([value, group]) =>
      listScope(name, { kind, value }, { addresses: group, most }),
    );
  });
}

type Place = readonly [value: string, members: readonly ReadyAddress[]];

/** Nothing keeps a cluster from having each of its endpoints in a zone of its own. */
function takePlaces(
  members: ReadonlyMap<string, readonly ReadyAddress[]>,
  most: number,
): readonly Place[] {
  const claims = Array.from(members, ([place, those]) =>
    Array.from(new Set(those.map(({ cluster }) => cluster)), (cluster) => ({ cluster, place })),
  ).flat();
  const kept = takeInTurns(claims, most, {
    source: ({ cluster }) => cluster,
    key: ({ place }) => place,
  });
  const names = new Set(kept.map(({ place }) => place));
  return [...members].filter(([place]) => names.has(place));
}

/** With all that is between them and the zone: what has something below it exists (RFC 8020), or resolvers will not look there. */
function listScope(
  name: ServiceName,
  scope: Scope,
  { addresses, most }: { readonly addresses: readonly ReadyAddress[]; readonly most: number },
): readonly NamedRecords[] {
  const records = listGroup({ ...name, scope }, addresses, { most });
  const { namespace } = name;
  const service = spellName({ ...name, scope });
  const protocols = new Set(listPortNames(addresses).map(({ protocol }) => protocol));
  const between = [
    scope.kind,
    `${scope.value}.${scope.kind}`,
    `svc.${scope.value}.${scope.kind}`,
    spellName({ namespace, scope }),
    ...Array.from(protocols, (protocol) => `_${protocol}.${service}`),
  ];
  return [...records, ...between.map((one): NamedRecords => ({ name: one, sets: [] }))];
}
