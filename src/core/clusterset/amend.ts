// Clusterset: an observation and an export that would be made or taken away in, what would be observed then out: in the
// cluster, and on the hub once its agent has told it. Changes nothing anywhere.

import type { EndpointSlice, Service } from "../../api/builtin.ts";
import { endpointShareName, serviceShareName } from "../../api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../api/hubshare.ts";
import { SERVICE_EXPORT, type ServiceExport } from "../../api/mcs.ts";
import {
  type ClusterId,
  KUBE_SERVICE_NAME_LABEL,
  memberNamespace,
  type ServiceKey,
  splitServiceKey,
} from "../../api/names.ts";
import { apiVersionOf, type KubeObject } from "../../api/object.ts";
import type { Contribution } from "../../api/share.ts";
import { readMarks } from "../exported.ts";
import { encodeEndpointShare, encodeServiceShare, serviceOfShareName } from "../wire.ts";
import { ownContribution } from "./contribution.ts";
import { indexClusterset, keyOf } from "./record.ts";
import {
  type HubSighting,
  idOf,
  type Observation,
  SIGHTED_KINDS,
  type Sighting,
} from "./sighting.ts";

export interface ExportChange {
  readonly cluster: ClusterId;
  readonly service: ServiceKey;
  /** Undefined: the export is taken away. */
  readonly offer: Offer | undefined;
}

/** The export as the API server would have it, with its creation time, and what it offers. */
export interface Offer {
  readonly serviceExport: ServiceExport;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

export function amendObservation(observation: Observation, change: ExportChange): Observation {
  const { cluster, service } = change;
  const target = observation.sightings.find((sighting) => idOf(sighting) === cluster);
  if (target === undefined) return observation;
  const sightings = observation.sightings.map((sighting) =>
    sighting === target ? amendSighting(sighting, change) : sighting,
  );
  const amended = { ...observation, sightings };
  const { hub } = observation;
  if (hub === undefined || !hub.hasShares || target.hub === undefined) return amended;
  const record = indexClusterset(amended).records.find(({ id }) => id === cluster);
  const told = record && ownContribution(record, service);
  return { ...amended, hub: amendHub(hub, change, told) };
}

/**
 * Clusters that export the service and cannot be asked are taken to say what the import in `witness` says: it is what their
 * exports and that of `witness` agree on. That they are older than any other is assumed: it cannot be told.
 */
export function recallStrangers(
  observation: Observation,
  strangers: readonly ClusterId[],
  witness: { readonly cluster: ClusterId; readonly service: ServiceKey },
): Observation {
  const { service } = witness;
  const serviceImport = observation.sightings
    .find((sighting) => idOf(sighting) === witness.cluster)
    ?.serviceImports.find((object) => keyOf(object) === service);
  const listed = new Set((serviceImport?.status?.clusters ?? []).map(({ cluster }) => cluster));
  const recalled = strangers.filter((id) => listed.has(id));
  if (serviceImport?.spec === undefined || recalled.length === 0) return observation;
  const { type, ips: _, ...spec } = serviceImport.spec;
  const metadata = splitServiceKey(service);
  const marks = readMarks(serviceImport.metadata);
  const serviceExport: ServiceExport = {
    apiVersion: apiVersionOf(SERVICE_EXPORT),
    kind: SERVICE_EXPORT.kind,
    metadata,
    spec: { exportedLabels: marks.labels, exportedAnnotations: marks.annotations },
  };
  const offered: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { ...spec, ...(type === "Headless" && { clusterIP: "None" }) },
  };
  const stand = (cluster: ClusterId): Sighting => ({
    name: cluster,
    cluster,
    problems: [],
    unread: SIGHTED_KINDS.filter((kind) => kind !== "serviceExports" && kind !== "services"),
    serviceExports: [serviceExport],
    serviceImports: [],
    services: [offered],
    slices: [],
    namespaces: [],
    properties: [],
  });
  const known = observation.sightings.filter((sighting) => !recalled.includes(idOf(sighting)));
  return { ...observation, sightings: [...known, ...recalled.map(stand)] };
}

function amendSighting(sighting: Sighting, { service, offer }: ExportChange): Sighting {
  const serviceExports = sighting.serviceExports.filter((object) => keyOf(object) !== service);
  if (offer === undefined) return { ...sighting, serviceExports };
  const { namespace, name } = splitServiceKey(service);
  const isReplaced = ({ metadata }: EndpointSlice): boolean =>
    metadata.namespace === namespace && metadata.labels?.[KUBE_SERVICE_NAME_LABEL] === name;
  const services = sighting.services.filter((object) => keyOf(object) !== service);
  return {
    ...sighting,
    // Of this service all is known now, whatever could not be listed.
    unread: sighting.unread.filter((kind) => kind !== "serviceExports" && kind !== "services"),
    serviceExports: [...serviceExports, offer.serviceExport],
    services: offer.service === undefined ? services : [...services, offer.service],
    slices: [...sighting.slices.filter((slice) => !isReplaced(slice)), ...offer.slices],
  };
}

function amendHub(
  hub: HubSighting,
  { cluster, service }: ExportChange,
  told: Contribution | undefined,
): HubSighting {
  const namespace = memberNamespace(cluster);
  const isOther = ({ metadata }: KubeObject): boolean =>
    metadata.namespace !== namespace || serviceOfShareName(metadata.name ?? "") !== service;
  const serviceShares = hub.serviceShares.filter(isOther);
  const endpointShares = hub.endpointShares.filter(isOther);
  if (told === undefined) return { ...hub, serviceShares, endpointShares };
  return {
    ...hub,
    serviceShares: [
      ...serviceShares,
      {
        apiVersion: apiVersionOf(SERVICE_SHARE),
        kind: SERVICE_SHARE.kind,
        metadata: { namespace, name: serviceShareName(service) },
        spec: encodeServiceShare(told.share),
      },
    ],
    endpointShares: [
      ...endpointShares,
      ...told.endpoints.map((share) => ({
        apiVersion: apiVersionOf(ENDPOINT_SHARE),
        kind: ENDPOINT_SHARE.kind,
        metadata: { namespace, name: endpointShareName(service, share.slice) },
        spec: encodeEndpointShare(share),
      })),
    ],
  };
}
