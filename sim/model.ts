// Model: what users wrote in all clusters in, what must be found in one of them out, in sentences that can be compared. Written
// by the rules of the API and not with the code under test, so that a mistake in the one is not made in the other.

import type { EndpointSlice, Service, ServicePort } from "../src/api/builtin.ts";
import type { ServiceExport, ServiceImport } from "../src/api/mcs.ts";

/** What one cluster's users have of one service. */
export interface Offer {
  readonly cluster: string;
  readonly serviceExport: ServiceExport | undefined;
  readonly service: Service | undefined;
  /** Those of the Service. */
  readonly slices: readonly EndpointSlice[];
  /** Others are asked to go elsewhere, if there is an elsewhere. */
  readonly isDrained: boolean;
}

/** What is found in one cluster of one service. */
export interface Found {
  readonly serviceImport: ServiceImport | undefined;
  readonly derived: Service | undefined;
  /** Those of the import. */
  readonly slices: readonly EndpointSlice[];
}

interface Exported {
  readonly cluster: string;
  readonly serviceExport: ServiceExport;
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly isDrained: boolean;
}

/** Oldest first; of the same age, by cluster (R20). */
function orderExports(offers: readonly Offer[]): readonly Exported[] {
  const valid = offers.flatMap(({ cluster, serviceExport, service, slices, isDrained }) => {
    if (serviceExport === undefined || service === undefined) return [];
    if (isGoing(serviceExport) || isGoing(service)) return [];
    return service.spec?.type === "ExternalName"
      ? []
      : [{ cluster, serviceExport, service, slices, isDrained }];
  });
  const rank = ({ serviceExport, cluster }: Exported): string =>
    `${serviceExport.metadata.creationTimestamp} ${cluster}`;
  return valid.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function isGoing({ metadata }: Service | ServiceExport): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Name and number are each given once, to the oldest; a port without a name stands alone (R25, R26). */
function mergePorts(ordered: readonly Exported[]): readonly ServicePort[] {
  const merged: ServicePort[] = [];
  for (const port of ordered.flatMap(({ service }) => service.spec?.ports ?? [])) {
    const isTaken = merged.some(
      (kept) =>
        nameOf(kept) === nameOf(port) ||
        (kept.port === port.port && kept.protocol === port.protocol) ||
        nameOf(kept) === "" ||
        nameOf(port) === "",
    );
    if (!isTaken) merged.push(port);
  }
  return merged;
}

function nameOf({ name = "" }: { readonly name?: string }): string {
  return name;
}

function describePort({ name = "", protocol, port, appProtocol = "" }: ServicePort): string {
  return `${name}/${protocol}/${port}/${appProtocol}`;
}

function typeOf(service: Service): string {
  return service.spec?.clusterIP === "None" ? "Headless" : "ClusterSetIP";
}

/** Sentences, sorted; none where there must be nothing. */
export function expectImport(offers: readonly Offer[]): readonly string[] {
  const ordered = orderExports(offers);
  const [oldest] = ordered;
  if (oldest === undefined) return [];
  const ports = mergePorts(ordered);
  const isHeadless = typeOf(oldest.service) === "Headless";
  const affinity = oldest.service.spec?.sessionAffinity ?? "None";
  const texts = ports.map(describePort);
  return [
    `type ${typeOf(oldest.service)}`,
    `affinity ${affinity}`,
    `clusters ${ordered
      .map(({ cluster }) => cluster)
      .toSorted()
      .join()}`,
    `ports ${texts.join()}`,
    "Ready True",
    ...(isHeadless ? [] : [`service ${texts.join()} ${affinity}`, "its address is shown"]),
    ...expectEndpoints(ordered, ports),
  ].toSorted();
}

function expectEndpoints(
  sources: readonly Exported[],
  merged: readonly ServicePort[],
): readonly string[] {
  const offered = sources.flatMap((source) =>
    usableSlices(source, merged).map((slice) => ({ source, slice })),
  );
  const served = new Set(
    offered.flatMap(({ source, slice }) =>
      source.isDrained || !hasReady(slice) ? [] : routesOf(slice),
    ),
  );
  return offered.flatMap(({ source: { cluster, isDrained }, slice }) => {
    const isLeft = isDrained && routesOf(slice).every((route) => served.has(route));
    return describeEndpoints(cluster, isLeft ? leave(slice) : slice);
  });
}

/** Only by ports that lead where the import says they do (R28). */
function usableSlices(source: Exported, merged: readonly ServicePort[]): readonly EndpointSlice[] {
  const own = (source.service.spec?.ports ?? []).filter((port) =>
    merged.some(
      (kept) =>
        nameOf(kept) === nameOf(port) && kept.port === port.port && kept.protocol === port.protocol,
    ),
  );
  const names = new Set(own.map(nameOf));
  return source.slices.flatMap((slice) => {
    const ports = (slice.ports ?? []).filter((port) => names.has(nameOf(port)));
    return ports.length === 0 ? [] : [{ ...slice, ports }];
  });
}

function hasReady({ endpoints }: EndpointSlice): boolean {
  return (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false);
}

/** Of one family: every slice of a simulated world is of the same. */
function routesOf({ ports }: EndpointSlice): readonly string[] {
  return (ports ?? []).map(nameOf);
}

function leave(slice: EndpointSlice): EndpointSlice {
  const endpoints = (slice.endpoints ?? []).map((endpoint) => ({
    ...endpoint,
    conditions: { ...endpoint.conditions, ready: false, serving: false },
  }));
  return { ...slice, endpoints };
}

function describeEndpoints(cluster: string, slice: EndpointSlice): readonly string[] {
  const ports = (slice.ports ?? []).map((port) => `${nameOf(port)}/${port.protocol}/${port.port}`);
  return (slice.endpoints ?? []).map(({ addresses, conditions = {} }) => {
    const { ready, serving, terminating } = conditions;
    return `endpoint ${addresses.join()} of ${cluster} ${ready} ${serving} ${terminating} ${ports.join()}`;
  });
}

/** The same sentences of what is there. */
export function describeFound(found: Found, sourceLabel: string): readonly string[] {
  const { serviceImport, derived, slices } = found;
  const sentences = slices.flatMap((slice) =>
    describeEndpoints(slice.metadata.labels?.[sourceLabel] ?? "nobody", slice),
  );
  if (derived !== undefined) {
    const ports = (derived.spec?.ports ?? []).map(describePort);
    sentences.push(`service ${ports.join()} ${derived.spec?.sessionAffinity}`);
    const shown = serviceImport?.spec?.ips?.join();
    if (shown === derived.spec?.clusterIPs?.join()) sentences.push("its address is shown");
  }
  if (serviceImport !== undefined) {
    const { spec, status } = serviceImport;
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    sentences.push(
      `type ${spec?.type}`,
      `affinity ${spec?.sessionAffinity ?? "None"}`,
      `clusters ${(status?.clusters ?? []).map(({ cluster }) => cluster).join()}`,
      `ports ${(spec?.ports ?? []).map((port) => describePort(port as ServicePort)).join()}`,
      `Ready ${ready?.status}`,
    );
  }
  return sentences.toSorted();
}

/** Of one export: Valid, Ready and Conflict (R7, R43). */
export function expectConditions(offer: Offer, offers: readonly Offer[]): string {
  const ordered = orderExports(offers);
  if (!ordered.some(({ cluster }) => cluster === offer.cluster)) return "Valid False, Ready False";
  const views = ordered.map(({ service, serviceExport }) =>
    JSON.stringify([
      typeOf(service),
      service.spec?.sessionAffinity,
      service.spec?.trafficDistribution,
      (service.spec?.ports ?? []).map(describePort).toSorted(),
      serviceExport.spec?.exportedLabels ?? {},
    ]),
  );
  const isDisputed = new Set(views).size > 1;
  return `Valid True, Ready True, Conflict ${isDisputed ? "True" : "False"}`;
}

export function describeConditions({ status }: ServiceExport): string {
  return ["Valid", "Ready", "Conflict"]
    .flatMap((type) => {
      const found = status?.conditions?.find((each) => each.type === type);
      return found === undefined ? [] : [`${type} ${found.status}`];
    })
    .join(", ");
}
