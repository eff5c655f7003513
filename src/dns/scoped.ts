// DNS, our own extension: the endpoints of a headless service in, the names of those in one topology zone or region out:
//   <service>.<namespace>.svc.<topology zone>._zone        and        <service>.<namespace>.svc.<region>._region

import type { ReadyAddress, ServiceName } from "./endpoint.ts";
import { listGroup } from "./group.ts";
import { isPlainLabel, type Scope, spellName } from "./name.ts";
import type { NamedRecords } from "./recordSet.ts";

/** Places that are not one label, which Kubernetes allows, have no name here. */
export function listScoped(
  name: ServiceName,
  addresses: readonly ReadyAddress[],
): readonly NamedRecords[] {
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
    return [...members].flatMap(([value, group]) => listScope(name, { kind, value }, group));
  });
}

/** With all that is between them and the zone: what has something below it exists (RFC 8020), or resolvers will not look there. */
function listScope(
  name: ServiceName,
  scope: Scope,
  addresses: readonly ReadyAddress[],
): readonly NamedRecords[] {
  const records = listGroup({ ...name, scope }, addresses);
  const { namespace } = name;
  const service = spellName({ ...name, scope });
  const protocols = new Set(
    addresses.flatMap(({ ports }) =>
      ports.filter(({ name }) => name !== "").map(({ protocol }) => protocol),
    ),
  );
  const between = [
    scope.kind,
    `${scope.value}.${scope.kind}`,
    `svc.${scope.value}.${scope.kind}`,
    spellName({ namespace, scope }),
    ...Array.from(protocols, (protocol) => `_${protocol}.${service}`),
  ];
  return [...records, ...between.map((one): NamedRecords => ({ name: one, sets: [] }))];
}
