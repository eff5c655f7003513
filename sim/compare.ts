// Comparison: what clusters hold in, every difference to the model out.

import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { derivedServiceName } from "../src/api/digest.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import {
  type ClusterId,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  SOURCE_CLUSTER_LABEL,
  splitServiceKey,
  WHEN_LOST_ANNOTATION,
} from "../src/api/names.ts";
import { importedServices, isImportedSlice, keyOf, type Objects, ownSlices } from "./holding.ts";
import {
  describeConditions,
  describeFound,
  expectConditions,
  expectImport,
  type Offer,
} from "./model.ts";
import type { Site } from "./world.ts";

/** Services, imports and endpoints, all that anybody has a name for. */
export function compareWithModel(
  members: readonly Site[],
  all: ReadonlyMap<Site, Objects>,
): readonly string[] {
  const unrest: string[] = [];
  const everything = members.flatMap((site) => all.get(site) ?? []);
  const keys = new Set(
    everything.flatMap((objects) => [...objects.exports.keys(), ...importedServices(objects)]),
  );
  for (const key of keys) {
    const { namespace, name } = splitServiceKey(key as ServiceKey);
    const offers = members.map((site) => offerOf(site, all.get(site), key));
    const wanted = expectImport(offers);
    for (const [at, site] of members.entries()) {
      const objects = all.get(site);
      const home = objects?.namespaces.get(namespace);
      if (objects === undefined) continue;
      const found = describeFound(
        {
          serviceImport: objects.imports.get(key),
          derived: objects.services.get(`${namespace}/${derivedServiceName(key as ServiceKey)}`),
          slices: objects.slices.filter(({ metadata }) =>
            isImportedSlice(metadata, namespace, name),
          ),
        },
        SOURCE_CLUSTER_LABEL,
      );
      const due = home === undefined ? [] : wanted;
      for (const sentence of due) {
        if (!found.includes(sentence)) unrest.push(`${site.id} lacks for ${key}: ${sentence}`);
      }
      for (const sentence of found) {
        if (!due.includes(sentence)) unrest.push(`${site.id} has for ${key}: ${sentence}`);
      }
      const offer = offers[at];
      if (offer?.serviceExport === undefined) continue;
      const told = describeConditions(offer.serviceExport);
      const meant = expectConditions(offer, offers);
      if (told !== meant) unrest.push(`${site.id} says of export ${key}: ${told}, not ${meant}`);
    }
  }
  return unrest;
}

function offerOf(site: Site, objects: Objects | undefined, key: string): Offer {
  return {
    cluster: site.id ?? "",
    serviceExport: objects?.exports.get(key),
    service: objects?.services.get(key),
    slices: objects === undefined ? [] : ownSlices(objects, key as ServiceKey),
    isDrained: objects?.isDrained === true,
  };
}

/** Slices of the lost cluster that another still has, but for those that it asked to keep. */
export async function findUsable(
  site: Site,
  lost: Site,
  id: ClusterId,
): Promise<readonly string[]> {
  const kept = (await lost.store.list(SERVICE_EXPORT)).items.filter(({ metadata }) =>
    ["keep", "unready"].includes(metadata.annotations?.[WHEN_LOST_ANNOTATION] ?? ""),
  );
  const keys = new Set(kept.map(keyOf));
  const labelSelector = `${SOURCE_CLUSTER_LABEL}=${id}`;
  return (await site.store.list(ENDPOINT_SLICE, { labelSelector })).items
    .filter(({ metadata: { namespace, labels } }) => {
      return !keys.has(`${namespace}/${labels?.[SERVICE_NAME_LABEL]}`);
    })
    .map(keyOf);
}
