// Import: the endpoints that other clusters share and the merged ports in, the EndpointSlices of this cluster out
// (R46–R56). One imported slice per source slice, so that one endpoint changed is one slice written.

import {
  ENDPOINT_SLICE,
  type Endpoint,
  type EndpointPort,
  type EndpointSlice,
} from "../api/builtin.ts";
import { importedSliceName } from "../api/digest.ts";
import {
  type ClusterId,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
  splitServiceKey,
  WHEN_LOST_ANNOTATION,
} from "../api/names.ts";
import { apiVersionOf, type ObjectMeta } from "../api/object.ts";
import {
  type Contribution,
  type EndpointShare,
  type ServiceShare,
  WHEN_LOST,
  type WhenLost,
} from "../api/share.ts";
import { decideFate, judgeKept, turnUnready } from "./fate.ts";
import type { ImportView } from "./import.ts";
import type { Liveness } from "./liveness.ts";
import { exposesPort } from "./ports.ts";
import { createReplacement, isReplaceable, type PlannedSource } from "./replacement.ts";
import { deletionOf, hasEntries, isSameData, type Write } from "./write.ts";

type SourceStates = Pick<SlicesInput, "contributions" | "isAwaited" | "livenessOf">;

export interface SlicesInput {
  /** The importing cluster. */
  readonly cluster: ClusterId;
  readonly view: ImportView;
  readonly contributions: readonly Contribution[];
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  /** By its last word, heard or not. Absent: as far as `livenessOf` says so. */
  readonly isDrained?: (cluster: ClusterId) => boolean;
  /** Sources of which not everything is known yet: nothing of them may be taken away unless they are lost. */
  readonly isAwaited: (cluster: ClusterId) => boolean;
  /**
   * The derived Service is still to be made, and new slices wait for it. kube-proxy ends UDP flows that went nowhere when a Service
   * gets endpoints; to endpoints that were there before the Service it does not, and a client that was too early is never answered.
   */
  readonly isServiceAwaited?: boolean;
}

export function planSlices(input: SlicesInput, observed: readonly EndpointSlice[]): Write[] {
  const desired = new Map(
    renderSlices(input, observed).map((slice) => [slice.metadata.name, slice]),
  );
  const present = new Map(observed.map((slice) => [slice.metadata.name, slice]));
  const writes: Write[] = [];
  for (const [name, slice] of desired) {
    const actual = present.get(name);
    // The address type of a slice cannot change: the old one has to go first.
    if (actual !== undefined && actual.addressType !== slice.addressType) {
      writes.push(deletionOf(ENDPOINT_SLICE, actual));
    }
    if (actual === undefined && input.isServiceAwaited === true) continue;
    if (actual === undefined || !isSameSlice(actual, slice)) writes.push(correct(actual, slice));
  }
  const left = observed.filter(({ metadata }) => !desired.has(metadata.name));
  return [...writes, ...planSliceRemoval(input, left)];
}

/** A link or a word that should not be there cannot be applied away: somebody else may have put it there. */
function correct(actual: EndpointSlice | undefined, desired: EndpointSlice): Write {
  const { [KUBE_SERVICE_NAME_LABEL]: link, ...labels } = actual?.metadata.labels ?? {};
  const { [WHEN_LOST_ANNOTATION]: whenLost, ...annotations } = actual?.metadata.annotations ?? {};
  const isCrowded =
    (link !== undefined && desired.metadata.labels?.[KUBE_SERVICE_NAME_LABEL] === undefined) ||
    (whenLost !== undefined && desired.metadata.annotations?.[WHEN_LOST_ANNOTATION] === undefined);
  if (actual?.addressType !== desired.addressType || !isCrowded) {
    return { verb: "apply", resource: ENDPOINT_SLICE, object: desired };
  }
  const metadata = {
    ...actual.metadata,
    labels: { ...labels, ...desired.metadata.labels },
    annotations: { ...annotations, ...desired.metadata.annotations },
  };
  return { verb: "replace", resource: ENDPOINT_SLICE, object: { ...desired, metadata } };
}

/** The slices that we wrote for the service, but for those of a source that may still share it. */
export function planSliceRemoval(
  sources: SourceStates,
  observed: readonly EndpointSlice[],
): Write[] {
  return observed.filter(isOurs).flatMap((slice) => planLeftover(sources, slice));
}

/** Not heard yet is not gone: it fares like the slices of a source that is known. */
function planLeftover(sources: SourceStates, slice: EndpointSlice): Write[] {
  const source = slice.metadata.labels?.[SOURCE_CLUSTER_LABEL] as ClusterId | undefined;
  if (source === undefined || !sources.isAwaited(source)) {
    return [deletionOf(ENDPOINT_SLICE, slice)];
  }
  const liveness = sources.livenessOf(source);
  const known = sources.contributions.find(({ share }) => share.cluster === source);
  const fate = decideFate(
    liveness,
    known === undefined ? readWhenLost(slice) : known.share.whenLost,
  );
  if (fate === "go") return [deletionOf(ENDPOINT_SLICE, slice)];
  // Whether others could stand in for it is not known while not all is.
  if (fate === "stay" || isReplaceable(liveness)) return [];
  const unready = turnUnready(slice);
  if (isSameData(unready.endpoints, slice.endpoints)) return [];
  return [{ verb: "apply", resource: ENDPOINT_SLICE, object: keepOurs(unready) }];
}

/** What was asked for when the slice was written: whoever starts anew has nobody else to ask. */
function readWhenLost(slice: EndpointSlice): WhenLost | undefined {
  const written = slice.metadata.annotations?.[WHEN_LOST_ANNOTATION];
  return WHEN_LOST.find((word) => word === written);
}

const OUR_LABELS: ReadonlySet<string> = new Set([
  SERVICE_NAME_LABEL,
  SOURCE_CLUSTER_LABEL,
  MANAGED_BY_LABEL,
  KUBE_SERVICE_NAME_LABEL,
]);

/** Only the fields that are ours, as an apply has to have them. */
function keepOurs(slice: EndpointSlice): EndpointSlice {
  const { apiVersion, kind, metadata, addressType, endpoints, ports = [] } = slice;
  const { namespace = "", name = "", labels = {} } = metadata;
  const ours = Object.entries(labels).filter(([key]) => OUR_LABELS.has(key));
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: Object.fromEntries(ours),
      ...renderWhenLost(readWhenLost(slice)),
    },
    addressType,
    endpoints,
    ports,
  };
}

function renderWhenLost(whenLost: WhenLost | undefined): Pick<ObjectMeta, "annotations"> {
  if (whenLost === undefined || whenLost === "withdraw") return {};
  return { annotations: { [WHEN_LOST_ANNOTATION]: whenLost } };
}

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
}

function renderSlices(
  input: SlicesInput,
  observed: readonly EndpointSlice[],
): readonly EndpointSlice[] {
  const sources = input.contributions.map((contribution): PlannedSource => {
    const { cluster, whenLost } = contribution.share;
    const isDrained = input.isDrained?.(cluster) === true;
    const liveness = judgeKept(input.livenessOf(cluster), { whenLost, isDrained });
    const fate = decideFate(liveness, whenLost);
    const slices = fate === "go" ? [] : sliceContribution(input, contribution);
    return { cluster, liveness, fate, slices };
  });
  const replace = sources.some(({ liveness }) => isReplaceable(liveness))
    ? createReplacement({ ...input, sources, observed: observed.filter(isOurs) })
    : undefined;
  return sources.flatMap((source) => {
    if (source.fate === "stay") return source.slices;
    if (replace !== undefined && isReplaceable(source.liveness)) return replace(source);
    return source.slices.map(turnUnready);
  });
}

function sliceContribution(input: SlicesInput, contribution: Contribution): EndpointSlice[] {
  return contribution.endpoints.flatMap((source) => {
    const ports = filterPorts(input.view, contribution.share, source.ports);
    const reachable = input.view.ipFamilies.includes(source.addressType);
    // Nothing of it can be used: no slice rather than an empty one (R28, R54).
    if (!reachable || source.endpoints.length === 0) return [];
    if (ports.length === 0 && source.ports.length > 0) return [];
    return [renderSlice(input, source, { ports, whenLost: contribution.share.whenLost })];
  });
}

/** A port that lost the merge leads to the wrong backend: its traffic must not go there (R28). */
function filterPorts(
  view: ImportView,
  share: ServiceShare,
  ports: readonly EndpointPort[],
): EndpointPort[] {
  return ports.filter((port) => {
    const merged = view.ports.find((candidate) => candidate.name === (port.name ?? ""));
    return merged !== undefined && exposesPort(share, merged);
  });
}

function renderSlice(
  input: SlicesInput,
  source: EndpointShare,
  facts: {
    readonly ports: readonly EndpointPort[];
    readonly whenLost: WhenLost | undefined;
  },
): EndpointSlice {
  const { view } = input;
  const { namespace, name } = splitServiceKey(view.service);
  return {
    apiVersion: apiVersionOf(ENDPOINT_SLICE),
    kind: ENDPOINT_SLICE.kind,
    metadata: {
      namespace,
      name: importedSliceName(source),
      labels: {
        [SERVICE_NAME_LABEL]: name,
        [SOURCE_CLUSTER_LABEL]: source.cluster,
        [MANAGED_BY_LABEL]: SLICE_MANAGER,
        // Never the exported name: that would feed these endpoints into the user's own Service (R51).
        ...(view.derivedName === undefined ? {} : { [KUBE_SERVICE_NAME_LABEL]: view.derivedName }),
      },
      ...renderWhenLost(facts.whenLost),
    },
    addressType: source.addressType,
    endpoints: source.endpoints.map((endpoint) => renderEndpoint(input, source, endpoint)),
    ports: facts.ports,
  };
}

function renderEndpoint(input: SlicesInput, source: EndpointShare, endpoint: Endpoint): Endpoint {
  const { conditions, hostname, zone, nodeName } = endpoint;
  return {
    addresses: endpoint.addresses,
    ...(conditions === undefined ? {} : { conditions }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(zone === undefined ? {} : { zone }),
    // Another cluster's node may share its name with one of ours, and kube-proxy would take it for local (R50).
    ...(nodeName === undefined || source.cluster !== input.cluster ? {} : { nodeName }),
    ...renderHints(input.view, endpoint),
  };
}

/** Nobody else computes hints for a Service without a selector, and kube-proxy routes by them (R50). */
function renderHints(view: ImportView, endpoint: Endpoint): Pick<Endpoint, "hints"> {
  const preference = view.trafficDistribution;
  const isByZone = preference === "PreferClose" || preference === "PreferSameZone";
  if (!isByZone || endpoint.zone === undefined) return {};
  return { hints: { forZones: [{ name: endpoint.zone }] } };
}

function isSameSlice(actual: EndpointSlice, desired: EndpointSlice): boolean {
  const isServing = desired.metadata.labels?.[KUBE_SERVICE_NAME_LABEL] !== undefined;
  return (
    hasEntries(actual.metadata.labels, desired.metadata.labels) &&
    isServing === (actual.metadata.labels?.[KUBE_SERVICE_NAME_LABEL] !== undefined) &&
    actual.metadata.annotations?.[WHEN_LOST_ANNOTATION] ===
      desired.metadata.annotations?.[WHEN_LOST_ANNOTATION] &&
    actual.addressType === desired.addressType &&
    isSameData(actual.ports ?? [], desired.ports ?? []) &&
    isSameData(actual.endpoints, desired.endpoints)
  );
}
