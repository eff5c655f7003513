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
} from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import type { Contribution, EndpointShare, ServiceShare } from "../api/share.ts";
import type { ImportView } from "./import.ts";
import type { Liveness } from "./liveness.ts";
import { exposesPort } from "./ports.ts";
import { deletionOf, hasEntries, isSameData, type Write } from "./write.ts";

type SourceStates = Pick<SlicesInput, "isAwaited" | "livenessOf">;

export interface SlicesInput {
  /** The importing cluster. */
  readonly cluster: ClusterId;
  readonly view: ImportView;
  readonly contributions: readonly Contribution[];
  readonly livenessOf: (cluster: ClusterId) => Liveness;
  /** Sources whose shares are not known yet: their slices stay as they are. */
  readonly isAwaited: (cluster: ClusterId) => boolean;
}

export function planSlices(input: SlicesInput, observed: readonly EndpointSlice[]): Write[] {
  const desired = new Map(
    input.contributions
      .flatMap((contribution) => sliceContribution(input, contribution))
      .map((slice) => [slice.metadata.name, slice]),
  );
  const present = new Map(observed.map((slice) => [slice.metadata.name, slice]));
  const writes: Write[] = [];
  for (const [name, slice] of desired) {
    const actual = present.get(name);
    // The address type of a slice cannot change: the old one has to go first.
    if (actual !== undefined && actual.addressType !== slice.addressType) {
      writes.push(deletionOf(ENDPOINT_SLICE, actual));
    }
    if (actual === undefined || !isSameSlice(actual, slice)) writes.push(correct(actual, slice));
  }
  const stale = observed.filter(
    (slice) => isOurs(slice) && !desired.has(slice.metadata.name) && !isKept(slice, input),
  );
  return [...writes, ...stale.map((slice) => deletionOf(ENDPOINT_SLICE, slice))];
}

/** A link to a Service that should not be there cannot be applied away: somebody else may have made it. */
function correct(actual: EndpointSlice | undefined, desired: EndpointSlice): Write {
  const { [KUBE_SERVICE_NAME_LABEL]: link, ...labels } = actual?.metadata.labels ?? {};
  const isUnlinked = desired.metadata.labels?.[KUBE_SERVICE_NAME_LABEL] === undefined;
  if (actual?.addressType !== desired.addressType || link === undefined || !isUnlinked) {
    return { verb: "apply", resource: ENDPOINT_SLICE, object: desired };
  }
  const metadata = { ...actual.metadata, labels: { ...labels, ...desired.metadata.labels } };
  return { verb: "replace", resource: ENDPOINT_SLICE, object: { ...desired, metadata } };
}

/** The slices that we wrote for the service, but for those of a source that may still share it. */
export function planSliceRemoval(
  sources: SourceStates,
  observed: readonly EndpointSlice[],
): Write[] {
  return observed
    .filter((slice) => isOurs(slice) && !isKept(slice, sources))
    .map((slice) => deletionOf(ENDPOINT_SLICE, slice));
}

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
}

/** Not heard yet is not gone; but a source that stays silent is lost, heard or not. */
function isKept(slice: EndpointSlice, input: SourceStates): boolean {
  const source = slice.metadata.labels?.[SOURCE_CLUSTER_LABEL] as ClusterId | undefined;
  return source !== undefined && input.isAwaited(source) && input.livenessOf(source) !== "lost";
}

function sliceContribution(input: SlicesInput, contribution: Contribution): EndpointSlice[] {
  const liveness = input.livenessOf(contribution.share.cluster);
  if (liveness === "lost") return [];
  return contribution.endpoints.flatMap((source) => {
    const ports = filterPorts(input.view, contribution.share, source.ports);
    const reachable = input.view.ipFamilies.includes(source.addressType);
    // Nothing of it can be used: no slice rather than an empty one (R28, R54).
    if (!reachable || source.endpoints.length === 0) return [];
    if (ports.length === 0 && source.ports.length > 0) return [];
    return [renderSlice(input, source, { ports, isUnready: liveness === "silent" })];
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
  facts: { readonly ports: readonly EndpointPort[]; readonly isUnready: boolean },
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
    },
    addressType: source.addressType,
    endpoints: source.endpoints.map((endpoint) => renderEndpoint(input, source, endpoint, facts)),
    ports: facts.ports,
  };
}

function renderEndpoint(
  input: SlicesInput,
  source: EndpointShare,
  endpoint: Endpoint,
  facts: { readonly isUnready: boolean },
): Endpoint {
  const { hostname, zone, nodeName } = endpoint;
  const conditions = facts.isUnready
    ? { ...endpoint.conditions, ready: false, serving: false }
    : endpoint.conditions;
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
    actual.addressType === desired.addressType &&
    isSameData(actual.ports ?? [], desired.ports ?? []) &&
    isSameData(actual.endpoints, desired.endpoints)
  );
}
