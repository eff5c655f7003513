// Observe: an EndpointSlice as the API server sent it in, what is kept of it out, and a slice again when somebody asks. As
// objects the endpoints of a fleet would be the largest part of what an agent holds: they are kept as text, and what most
// of them have in common only once for each slice.

import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  SLICE_MANAGER,
  serviceKey,
} from "../api/names.ts";
import type { KubeObject } from "../api/object.ts";
import { shareEndpoint } from "../core/endpoints.ts";
import { narrowJson } from "../runtime/narrow.ts";

/** Its metadata says which object it is, and in which version. */
export interface PackedSlice extends KubeObject {
  /** The service that it is a slice of in this cluster. */
  readonly sourceOf: ServiceKey | undefined;
  /** The service whose import it belongs to. */
  readonly importOf: ServiceKey | undefined;
  /** JSON of `Columns`. */
  readonly text: string;
}

type Trait = Omit<Endpoint, "addresses">;
type Columns = readonly [
  head: EndpointSlice,
  /** What endpoints have besides their addresses, each that there is. */
  traits: readonly Trait[],
  /** For each endpoint its addresses and which of the traits is its own. */
  addresses: readonly Endpoint["addresses"][],
  traitOf: readonly number[],
];

export function packSlice(slice: EndpointSlice): PackedSlice {
  const { apiVersion, kind } = slice;
  const { managedFields: _, ...metadata } = slice.metadata;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  const importOf = importOfSlice(slice);
  const sourceOf = importOf === undefined ? sourceOfSlice(slice) : undefined;
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion },
    sourceOf,
    importOf,
    text: narrowJson(
      renderColumns(
        { ...slice, metadata },
        // Of what nobody imports only what is shared is ever asked for: a reference to a pod is as long as all the rest.
        importOf === undefined ? shareEndpoint : identity,
      ),
    ),
  };
}

/** But for managedFields the very slice, if it is part of an import; else without what other clusters are not told. */
export function unpackSlice({ text }: PackedSlice): EndpointSlice {
  const [head, traits, addresses, traitOf] = JSON.parse(text) as Columns;
  if (addresses.length === 0) return head;
  const endpoints = addresses.map((list, at) => ({
    addresses: list,
    ...traits[traitOf[at] ?? 0],
  }));
  return { ...head, endpoints };
}

function renderColumns(slice: EndpointSlice, pick: (endpoint: Endpoint) => Endpoint): string {
  const { endpoints } = slice;
  const traits = new Map<string, number>();
  const addresses: Endpoint["addresses"][] = [];
  const traitOf: number[] = [];
  // A slice without endpoints may come with null.
  for (const endpoint of endpoints ?? []) {
    const { addresses: list, ...trait } = pick(endpoint);
    const text = JSON.stringify(trait);
    let index = traits.get(text);
    if (index === undefined) {
      index = traits.size;
      traits.set(text, index);
    }
    addresses.push(list);
    traitOf.push(index);
  }
  const head = addresses.length === 0 ? slice : { ...slice, endpoints: [] };
  const [headText, addressText, traitOfText] = [head, addresses, traitOf].map((part) =>
    JSON.stringify(part),
  );
  return `[${headText},[${[...traits.keys()].join(",")}],${addressText},${traitOfText}]`;
}

function identity(endpoint: Endpoint): Endpoint {
  return endpoint;
}

function importOfSlice(slice: EndpointSlice): ServiceKey | undefined {
  const { labels, namespace = "" } = slice.metadata;
  const name = labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : serviceKey({ namespace, name });
}

/** Imported slices are nobody's source: exporting them again would go round in circles. */
function sourceOfSlice(slice: EndpointSlice): ServiceKey | undefined {
  const { labels, namespace = "" } = slice.metadata;
  const name = labels?.[KUBE_SERVICE_NAME_LABEL];
  const isImported = labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
  return name === undefined || isImported ? undefined : serviceKey({ namespace, name });
}
