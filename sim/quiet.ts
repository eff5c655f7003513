// Quiet: a world in which nothing has been wrong for a while in, everything that is not as it should be out. What each cluster
// must hold is worked out from the users' own objects, as if every cluster knew all others directly.

import { derivedServiceName, endpointShareName, serviceShareName } from "../src/api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../src/api/hubshare.ts";
import {
  type ClusterId,
  memberNamespace,
  type ServiceKey,
  splitServiceKey,
} from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import type { Contribution } from "../src/api/share.ts";
import { planEndpointShares } from "../src/core/endpoints.ts";
import { type ExportInput, judgeExport, planExportStatus, planShare } from "../src/core/export.ts";
import { mergeShares } from "../src/core/merge.ts";
import { planImport } from "../src/core/plan.ts";
import {
  decodeEndpointShare,
  decodeServiceShare,
  encodeEndpointShare,
  encodeServiceShare,
} from "../src/core/wire.ts";
import { isSameData, type Write } from "../src/core/write.ts";
import { compareWithModel } from "./compare.ts";
import {
  importedServices,
  isImportedSlice,
  isManaged,
  keyOf,
  type Objects,
  ownSlices,
  readObjects,
} from "./holding.ts";
import type { Site, World } from "./world.ts";

/** Empty when all is well. */
export async function findUnrest(world: World): Promise<readonly string[]> {
  const unrest: string[] = [];
  const all = new Map<Site, Objects>();
  for (const site of world.sites) all.set(site, await readObjects(site.store));
  const members = world.sites.filter(({ id }) => id !== undefined);
  unrest.push(...compareWithModel(members, all));
  const shared = new Map<ServiceKey, Contribution[]>();
  const drained = new Set<string>(
    members.flatMap((site) => (all.get(site)?.isDrained === true ? (site.id ?? []) : [])),
  );
  for (const site of members) {
    for (const contribution of contributionsOf(site, all.get(site))) {
      const { service } = contribution.share;
      shared.set(service, [...(shared.get(service) ?? []), contribution]);
    }
  }
  for (const site of world.sites) {
    const objects = all.get(site);
    if (objects === undefined) continue;
    if (site.id === undefined) unrest.push(...findRemains(site, objects));
    else unrest.push(...findDifferences(site.id, objects, { shared, drained }));
    if (site.running !== undefined && !site.running.agent.isIdle()) {
      unrest.push(`the work queues of ${site.id} are not empty`);
    }
    if (site.running !== undefined && !site.running.agent.isSynced()) {
      unrest.push(`${site.id} is not in step with the hub`);
    }
  }
  unrest.push(...(await findHubDifferences(world, shared)));
  return unrest;
}

/** What agents do not see at the moment; watches end and begin anew also when nothing is wrong. */
export function findBlindSpots({ sites }: World): readonly string[] {
  return sites.flatMap(({ id, running }) =>
    (running?.process.blindSpots() ?? []).map((what) => `${id} does not see ${what}`),
  );
}

function exportInput(cluster: ClusterId, key: string, objects: Objects): ExportInput {
  const { namespace, name } = splitServiceKey(key as ServiceKey);
  const serviceExport = objects.exports.get(key);
  const service = objects.services.get(key);
  return { cluster, namespace, name, serviceExport, service, namespaceDenied: false };
}

function contributionsOf(site: Site, objects: Objects | undefined): readonly Contribution[] {
  const cluster = site.id;
  if (objects === undefined || cluster === undefined) return [];
  return [...objects.exports.keys()].flatMap((key) => {
    const share = planShare(exportInput(cluster, key, objects));
    if (share === undefined) return [];
    const slices = ownSlices(objects, share.service);
    const endpoints = planEndpointShares({ cluster, service: share.service }, slices);
    return [{ share, endpoints }];
  });
}

/** As the hub hands it to others. */
function overTheWire(contribution: Contribution): Contribution {
  const { cluster, service } = contribution.share;
  const name = serviceShareName(service);
  const share = decodeServiceShare({
    cluster,
    name,
    spec: encodeServiceShare(contribution.share),
  });
  if (!share.ok) throw new Error(`a share of ${service} cannot be read`);
  const endpoints = contribution.endpoints.map((each) => {
    const spec = encodeEndpointShare(each);
    const decoded = decodeEndpointShare({
      cluster,
      name: endpointShareName(service, each.slice),
      spec,
    });
    if (!decoded.ok) throw new Error(`an endpoint share of ${service} cannot be read`);
    return decoded.value;
  });
  return { share: share.value, endpoints };
}

function findDifferences(
  cluster: ClusterId,
  objects: Objects,
  clusterset: {
    readonly shared: ReadonlyMap<ServiceKey, readonly Contribution[]>;
    /** Ids. */
    readonly drained: ReadonlySet<string>;
  },
): readonly string[] {
  const { shared, drained } = clusterset;
  const unrest: string[] = [];
  const services = new Set<ServiceKey>([...shared.keys(), ...importedServices(objects)]);
  for (const service of services) {
    const { namespace, name } = splitServiceKey(service);
    const contributions = (shared.get(service) ?? [])
      .map((each) => (each.share.cluster === cluster ? each : overTheWire(each)))
      .toSorted((a, b) => (a.share.cluster < b.share.cluster ? -1 : 1));
    const home = objects.namespaces.get(namespace);
    const writes = planImport({
      cluster,
      service,
      families: ["IPv4", "IPv6"],
      namespace:
        home === undefined
          ? "missing"
          : home.metadata.deletionTimestamp === undefined
            ? "present"
            : "terminating",
      makesNamespace: false,
      contributions,
      rejections: [],
      livenessOf: (source) => (drained.has(source) ? "drained" : "live"),
      isAwaited: () => false,
      isComplete: true,
      observed: {
        serviceImport: objects.imports.get(service),
        derived: objects.services.get(`${namespace}/${derivedServiceName(service)}`),
        slices: objects.slices.filter(({ metadata }) => isImportedSlice(metadata, namespace, name)),
      },
      now: "2026-01-01T00:00:00Z",
    });
    for (const write of writes) unrest.push(`${cluster} still has to ${describe(write)}`);
    const serviceExport = objects.exports.get(service);
    if (serviceExport === undefined) continue;
    const judgements = judgeExport(exportInput(cluster, service, objects), {
      published: true,
      merged: mergeShares(contributions.map(({ share }) => share)),
    });
    for (const write of planExportStatus(serviceExport, judgements, "2026-01-01T00:00:00Z")) {
      unrest.push(`${cluster} still has to ${describe(write)}`);
    }
  }
  for (const key of objects.exports.keys()) {
    if (services.has(key as ServiceKey)) continue;
    const serviceExport = objects.exports.get(key);
    if (serviceExport === undefined) continue;
    const judgements = judgeExport(exportInput(cluster, key, objects), {
      published: false,
      merged: undefined,
    });
    for (const write of planExportStatus(serviceExport, judgements, "2026-01-01T00:00:00Z")) {
      unrest.push(`${cluster} still has to ${describe(write)}`);
    }
  }
  return unrest;
}

/** Who left has nothing of ours any more. */
function findRemains(site: Site, objects: Objects): readonly string[] {
  return [...objects.imports.values(), ...objects.services.values(), ...objects.slices]
    .filter(isManaged)
    .map((object) => `cluster ${site.index} has left, and has ${object.kind} ${keyOf(object)}`);
}

async function findHubDifferences(
  world: World,
  shared: ReadonlyMap<ServiceKey, readonly Contribution[]>,
): Promise<readonly string[]> {
  const wanted = new Map<string, unknown>();
  for (const { share, endpoints } of [...shared.values()].flat()) {
    const home = memberNamespace(share.cluster);
    wanted.set(`${home}/${serviceShareName(share.service)}`, encodeServiceShare(share));
    for (const each of endpoints) {
      const name = endpointShareName(share.service, each.slice);
      wanted.set(`${home}/${name}`, encodeEndpointShare(each));
    }
  }
  const unrest: string[] = [];
  for (const resource of [SERVICE_SHARE, ENDPOINT_SHARE]) {
    for (const object of (await world.hubStore.list<KubeObject>(resource)).items) {
      const key = keyOf(object);
      const { spec } = object as KubeObject & { readonly spec: unknown };
      if (!wanted.has(key)) unrest.push(`the hub has ${resource.kind} ${key}, of nobody's export`);
      else if (!isSameData(spec, wanted.get(key))) unrest.push(`the hub has an old ${key}`);
      wanted.delete(key);
    }
  }
  return [...unrest, ...[...wanted.keys()].map((key) => `the hub does not have ${key}`)];
}

function describe(write: Write): string {
  const { verb, resource } = write;
  const part = write.verb !== "delete" && write.subresource ? `/${write.subresource}` : "";
  const key =
    write.verb === "delete" ? `${write.ref.namespace}/${write.ref.name}` : keyOf(write.object);
  return `${verb} ${resource.plural}${part} ${key}`;
}
