// Clusterset: one source of one import in, each of its endpoints out, with why traffic reaches it or not: from its home over
// the hub and the doors of the importing cluster to the slice that kube-proxy reads. The first reason on that way counts.

import type { Endpoint, EndpointPort, EndpointSlice } from "../../api/builtin.ts";
import { importedSliceName } from "../../api/digest.ts";
import {
  type ClusterId,
  type ServiceKey,
  SOURCE_CLUSTER_LABEL,
  splitServiceKey,
} from "../../api/names.ts";
import type { EndpointShare } from "../../api/share.ts";
import { admitContribution, type Rejection } from "../admission.ts";
import { describePort, exposesPort } from "../ports.ts";
import {
  admissionContext,
  areEndpointsKnown,
  exportedContribution,
  findStrangers,
  hubContribution,
} from "./contribution.ts";
import { explain, type Explanation, list, nameKeeper } from "./explanation.ts";
import { explainUnready } from "./explainExport.ts";
import { type ClusterRecord, type Clusterset, isOnHub } from "./record.ts";
import { hasPorts, isHeadless } from "./served.ts";
import { slicesFrom, type Standing } from "./standing.ts";
import { isAttached, isEndpointReady } from "./view.ts";

/** More are counted, not listed. */
const LISTED = 1_000;

export function explainEndpoints(
  set: Clusterset,
  standing: Standing,
  source: ClusterId,
): readonly Explanation[] {
  const { importer, service } = standing;
  const record = set.byId.get(source);
  const copies = slicesFrom(importer, service, source);
  const home =
    record !== undefined && areEndpointsKnown(set, record)
      ? exportedContribution(set, record, service)
      : undefined;
  if (record === undefined || home === undefined) {
    return cut(
      copies.flatMap((slice) =>
        slice.endpoints.map((endpoint) => explainCopy(endpoint, slice, standing)),
      ),
    );
  }
  const known = new Set(
    home.endpoints.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses)),
  );
  const stale = copies.flatMap((slice) =>
    slice.endpoints
      .filter(({ addresses: [address = ""] }) => !known.has(address))
      .map(({ addresses: [address = ""] }) =>
        explain(address, "bad", {
          why: `It is still in the slice, though ${source} does not have it any more.`,
          inUse: isAttached(slice, standing),
        }),
      ),
  );
  const facts = { set, standing, record, copies };
  const own = home.endpoints.flatMap((share) =>
    share.endpoints.map((endpoint) => explainEndpoint(facts, share, endpoint)),
  );
  return cut([...own, ...stale]);
}

/** Whether the service can be used is told by those that are good: they must not be cut off. */
function cut(endpoints: readonly Explanation[]): readonly Explanation[] {
  if (endpoints.length <= LISTED) return endpoints;
  const rank = ({ verdict }: Explanation): number => Number(verdict !== "good");
  return endpoints.toSorted((a, b) => rank(a) - rank(b)).slice(0, LISTED);
}

interface Facts {
  readonly set: Clusterset;
  readonly standing: Standing;
  readonly record: ClusterRecord;
  readonly copies: readonly EndpointSlice[];
}

function explainEndpoint(facts: Facts, share: EndpointShare, endpoint: Endpoint): Explanation {
  const { standing, record } = facts;
  const { service, importer, judged } = standing;
  const [address = ""] = endpoint.addresses;
  if (!isEndpointReady(endpoint)) {
    // What to do is said at the export.
    const { namespace } = splitServiceKey(service);
    const { why } = explainUnready(withPod(record, service, endpoint), record.id, namespace);
    return explain(address, "bad", { why });
  }
  const door = explainDoors(facts, share, endpoint);
  if (door !== undefined) return door;
  const liveness = judged.get(record.id);
  if (liveness !== undefined && liveness !== "live" && liveness !== "drained") {
    const treats = liveness === "lost" ? "has withdrawn it" : "keeps it not ready";
    return explain(address, "bad", {
      why: `${importer.id} ${treats}, because ${record.id} is ${liveness}.`,
    });
  }
  const name = importedSliceName({ service, cluster: record.id, slice: share.slice });
  const slice = facts.copies.find(({ metadata }) => metadata.name === name);
  const copy = slice?.endpoints.find(({ addresses }) => addresses.includes(address));
  if (liveness === "drained" && copy !== undefined && !isEndpointReady(copy)) {
    const why = `${importer.id} keeps it not ready, because ${record.id} is drained.`;
    return explain(address, "unknown", { why, inUse: false });
  }
  const strangers = findStrangers(facts.set, service);
  if (copy === undefined && strangers.length > 0) {
    const why = `It is not in ${importer.id}, and why cannot be told: what ${list(strangers)} ${strangers.length === 1 ? "exports" : "export"} was not read.`;
    return explain(address, "unknown", { why });
  }
  if (slice === undefined || copy === undefined || !isEndpointReady(copy)) {
    const why =
      copy === undefined
        ? `It has not arrived in ${importer.id}.`
        : `It is ready in ${record.id}, but not yet in ${importer.id}.`;
    return explain(address, "bad", { why });
  }
  return explainCopy(copy, slice, standing);
}

/** What stands between a ready endpoint and the importing cluster; undefined: nothing. */
function explainDoors(
  { set, standing, record }: Facts,
  share: EndpointShare,
  endpoint: Endpoint,
): Explanation | undefined {
  const { importer, service, view, merged } = standing;
  const [address = ""] = endpoint.addresses;
  const isForeign = record.id !== importer.id;
  if (isForeign && isOnHub(set, record) && isOnHub(set, importer)) {
    const told = hubContribution(record, service)?.contribution;
    const isTold = told?.endpoints.some(({ endpoints }) =>
      endpoints.some((one) => one.addresses.includes(address) && isEndpointReady(one)),
    );
    if (told === undefined || isTold !== true) {
      const why = `The hub does not have it as it is in ${record.id}.`;
      return explain(address, "bad", { why, next: nameKeeper(record) });
    }
    const alone = { share: told.share, endpoints: [{ ...share, endpoints: [endpoint] }] };
    const [rejection] = admitContribution(alone, admissionContext(record, importer)).rejections;
    if (rejection !== undefined) {
      return explain(address, "bad", {
        why: `It is not let in: ${describeReason(rejection, record.id)}.`,
      });
    }
  }
  if (view !== undefined && !view.ipFamilies.includes(share.addressType)) {
    const why = `${importer.id} does not serve this service over ${share.addressType}.`;
    return explain(address, "bad", { why });
  }
  const own = standing.received.get(record.id)?.contribution.share;
  if (merged === undefined || own === undefined || share.ports.length === 0) return undefined;
  const usable = share.ports.filter((port) => {
    const kept = merged.ports.find(({ name }) => name === (port.name ?? ""));
    return kept !== undefined && exposesPort(own, kept);
  });
  if (usable.length > 0) return undefined;
  // Ports of slices are found by name, so a name that the Service does not have leads nowhere.
  if (!share.ports.some((port) => own.ports.some(({ name }) => name === (port.name ?? "")))) {
    const has = own.ports.map(describePort).join(", ");
    const why = `Its ports are left out: its slice names ${list(share.ports.map(describeSlicePort))}, and the Service in ${record.id} has ${has}.`;
    const next = `In ${record.id}, name the ports of the EndpointSlice "${share.slice}" as the Service does.`;
    return explain(address, "bad", { why, next });
  }
  const why = `Its ports are left out: ${record.id} has ${own.ports.map(describePort).join(", ")}, the service is ${merged.ports.map(describePort).join(", ")}.`;
  const next = `Give the Service in ${record.id} the same ports, then its endpoints are used.`;
  return explain(address, "bad", { why, next });
}

function describeSlicePort({ name, port, protocol }: EndpointPort): string {
  return `${(name ?? "") === "" ? '""' : name} ${port ?? "?"}/${protocol ?? "TCP"}`;
}

/** The whole sentence, with what to do, is told once for all endpoints of the source. */
function describeReason({ reason }: Rejection, source: ClusterId): string {
  switch (reason) {
    case "AddressNotDeclared":
      return `it lies outside of the pod ranges that are declared for ${source}`;
    case "AddressForbidden":
      return "no endpoint may have such an address";
    case "AddressInServiceRange":
      return "it lies in a range of Services";
    case "TooMany":
    case "Malformed":
      return reason;
    default:
      return reason satisfies never;
  }
}

/** What travels does not name the pod. */
function withPod(record: ClusterRecord, service: ServiceKey, endpoint: Endpoint): Endpoint {
  const originals = (record.sourceSlices.get(service) ?? []).flatMap(
    (slice) => slice.endpoints ?? [],
  );
  const [address = ""] = endpoint.addresses;
  const targetRef = originals.find(({ addresses }) => addresses.includes(address))?.targetRef;
  return targetRef === undefined ? endpoint : { ...endpoint, targetRef };
}

function explainCopy(endpoint: Endpoint, slice: EndpointSlice, standing: Standing): Explanation {
  const { importer } = standing;
  const what = endpoint.addresses[0] ?? "";
  if (!isEndpointReady(endpoint)) {
    return explain(what, "bad", { why: "It is not ready, as the slice has it." });
  }
  const numbers = (slice.ports ?? []).flatMap(({ port }) => port ?? []);
  const at = numbers.length === 0 ? "" : `, port ${numbers.join(", ")}`;
  const isForeign = slice.metadata.labels?.[SOURCE_CLUSTER_LABEL] !== importer.id;
  if (isLocalOnly(standing) && isForeign) {
    const why = `It is ready${at}, but on no node of ${importer.id}, and internalTrafficPolicy is Local.`;
    return explain(what, "bad", { why, inUse: false });
  }
  if (!hasPorts(slice, standing)) {
    const source = slice.metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? importer.id;
    const why = "Its slice names no port, so nothing is sent to it.";
    const next = `In ${source}, give its EndpointSlice the ports of the Service, by the names that they have there.`;
    return explain(what, "bad", { why, next, inUse: false });
  }
  const inUse = isAttached(slice, standing) || isHeadless(standing);
  if (inUse) return explain(what, "good", { why: `In use${at}.`, inUse });
  const why = "Its slice is not attached to the Service that carries the virtual IP.";
  return explain(what, "bad", { why, inUse });
}

/** Clients reach endpoints on their own node only, and those of other clusters are on none. */
export function isLocalOnly({ importer, service }: Standing): boolean {
  const { spec } = importer.imports.get(service) ?? {};
  return spec?.internalTrafficPolicy === "Local" && spec.type !== "Headless";
}
