// Fault tests: what has to be so after every fault: all in step again, nothing lost, nothing doubled, nothing refused; and
// what must not have happened meanwhile.

import { expect } from "vitest";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { type ClusterId, HUB_NAMESPACE, memberNamespace } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/api/object.ts";
import { readVip } from "../scenarios/outcome.ts";
import { eventually } from "../scenarios/poll.ts";
import { type Asked, readAudit } from "./audit.ts";
import { type Bed, CONVERGE_MS, type Id, OFFERED, SHOP } from "./bed.ts";
import { heardAt, renewals } from "./leases.ts";

/**
 * Both services lead where they should with the virtual IP that they had, the hub holds what was shared, just that, and
 * hears from everybody.
 */
export async function expectStanding(bed: Bed): Promise<void> {
  for (const service of Object.keys(OFFERED)) {
    await bed.leadsEverywhere(service);
    for (const { id, site } of bed.members) {
      const vip = await readVip(site, service);
      expect(vip, `virtual IP of ${service} in ${id}`).toEqual(bed.firstVip(id, service));
      const slices = await site.slices(service);
      expect(slices).toHaveLength(Object.keys(OFFERED[service]!).length);
    }
  }
  const shared = Object.entries(OFFERED).flatMap(([service, sources]) =>
    Object.keys(sources).map((id) => `${memberNamespace(id as ClusterId)} ${SHOP}.${service}`),
  );
  await eventually(
    "the hub holds what is exported and nothing else",
    async () => {
      const { items } = await bed.hubAdmin.list(SERVICE_SHARE);
      expect(namesOf(items)).toEqual(shared.toSorted());
      const { items: slices } = await bed.hubAdmin.list(ENDPOINT_SHARE);
      const services = namesOf(slices).map((name) => name.slice(0, name.lastIndexOf(".")));
      expect(services).toEqual(shared.toSorted());
    },
    CONVERGE_MS,
  );
  // Nobody only looks well because nothing is taken away while it waits for the hub.
  await Promise.all(bed.members.map(({ id }) => renewals(1, () => heardAt(bed, id as Id))));
  expect(bed.members.filter(({ agent }) => !agent.isRunning()).map(({ id }) => id)).toEqual([]);
  expect(findRefusals(bed)).toEqual([]);
}

/**
 * Whatever happened since, no import went away or changed its virtual IP, and no endpoints of a cluster that was well went
 * away or were to be avoided. `fallible`: the source of which the others may have thought so.
 */
export function expectUndisturbed(bed: Bed, sinceMs: number, fallible?: Id): void {
  const disturbances = bed
    .changesSince(sinceMs)
    .filter(({ cluster, type, source, service, fate, ips }) =>
      source === undefined
        ? type === "DELETED" || ips?.join() !== bed.firstVip(cluster, service)?.join()
        : fate !== "ready" && (source !== fallible || cluster === fallible),
    );
  expect(disturbances).toEqual([]);
}

/** What the agents were refused for want of a permission, by any server. */
function findRefusals(bed: Bed): readonly string[] {
  // A server answers before it has read its own roles, and refuses everybody for a moment.
  const isStarting = ({ atMs }: Asked): boolean =>
    bed.hubStarts.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
  return [bed.hub, ...bed.members.map(({ cluster }) => cluster)].flatMap((server) =>
    readAudit(server.auditPath)
      .filter(({ code, user }) => code === 403 && isAgent(user))
      .filter((asked) => server !== bed.hub || !isStarting(asked))
      .map(({ verb, resource, uri }) => `${server.name}: ${verb} ${resource} (${uri})`),
  );
}

/** Join tokens are refused now and then while the hub's policies have not seen them yet. */
function isAgent(user: string): boolean {
  return !user.startsWith(`system:serviceaccount:${HUB_NAMESPACE}:`);
}

function namesOf(items: readonly KubeObject[]): readonly string[] {
  return items.map(({ metadata }) => `${metadata.namespace} ${metadata.name}`).toSorted();
}
