// Observe: an EndpointSlice as the API server sent it in, what is kept of it out, and a slice again when somebody asks. As
// objects the endpoints of a fleet would be the largest part of what an agent holds, so they are kept as text.

import { ENDPOINT_SLICE, type EndpointSlice } from "../api/builtin.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
  serviceKey,
} from "../api/names.ts";
import { apiVersionOf, type KubeObject } from "../api/object.ts";
import { foldEndpoints, unfoldEndpoints } from "../core/columns.ts";
import { shareEndpoint } from "../core/endpoints.ts";
import { narrowJson } from "../runtime/narrow.ts";

/** Its metadata says which object it is, and in which version. */
export interface PackedSlice extends KubeObject {
  /** The service that it is a slice of in this cluster. */
  readonly sourceOf: ServiceKey | undefined;
  /** The service whose import it belongs to. */
  readonly importOf: ServiceKey | undefined;
  /** What it holds of which source, if Isthmus wrote it. */
  readonly imported:
    | { readonly source: string; readonly endpoints: number; readonly ready: number }
    | undefined;
  readonly text: string;
}

const API_VERSION = apiVersionOf(ENDPOINT_SLICE);

export function packSlice(slice: EndpointSlice): PackedSlice {
  const { managedFields: _, ...metadata } = slice.metadata;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  const importOf = importOfSlice(slice);
  // Of what belongs to no import only what is shared is ever asked for: a reference to a pod is as long as all the rest.
  // A slice without endpoints may come with null.
  const endpoints =
    importOf === undefined ? (slice.endpoints ?? []).map(shareEndpoint) : slice.endpoints;
  return {
    // Constants: one copy for all.
    apiVersion: API_VERSION,
    kind: ENDPOINT_SLICE.kind,
    metadata: { namespace, name, uid, resourceVersion },
    sourceOf: importOf === undefined ? sourceOfSlice(slice) : undefined,
    importOf,
    imported: importOf === undefined ? undefined : countImported(slice),
    text: narrowJson(foldEndpoints({ ...slice, metadata, endpoints }) ?? ""),
  };
}

/** But for managedFields the very slice, if it is part of an import; else without what other clusters are not told. */
export function unpackSlice({ text }: PackedSlice): EndpointSlice {
  return unfoldEndpoints(text) as EndpointSlice;
}

function importOfSlice(slice: EndpointSlice): ServiceKey | undefined {
  const { labels, namespace = "" } = slice.metadata;
  const name = labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : serviceKey({ namespace, name });
}

function countImported({ metadata, endpoints }: EndpointSlice): PackedSlice["imported"] {
  const source = metadata.labels?.[SOURCE_CLUSTER_LABEL];
  const isOurs = metadata.labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
  if (source === undefined || !isOurs) return undefined;
  const all = endpoints ?? [];
  const ready = all.filter(({ conditions }) => conditions?.ready !== false).length;
  return { source, endpoints: all.length, ready };
}

/** Imported slices are nobody's source: exporting them again would go round in circles. */
function sourceOfSlice(slice: EndpointSlice): ServiceKey | undefined {
  const { labels, namespace = "" } = slice.metadata;
  const name = labels?.[KUBE_SERVICE_NAME_LABEL];
  const isImported = labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
  return name === undefined || isImported ? undefined : serviceKey({ namespace, name });
}
