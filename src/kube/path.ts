// Client: which object or collection → the request path. Pure; refuses names that would lead to another path.

import { apiVersionOf, type Resource } from "../api/object.ts";
import { StoreError } from "../ports/store.ts";

export interface PathTarget {
  /** Absent: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  /** Absent: the collection. */
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function buildPath(resource: Resource, target: PathTarget): string {
  const { namespace, name, subresource } = target;
  const root = resource.group === "" ? "/api/" : "/apis/";
  let path = root + apiVersionOf(resource);
  if (resource.namespaced) {
    if (namespace !== undefined) path += `/namespaces/${encodeSegment(namespace, "namespace")}`;
    else if (name !== undefined) {
      throw new StoreError("BadRequest", `${resource.kind} "${name}" needs a namespace`);
    }
  }
  path += `/${resource.plural}`;
  if (name !== undefined) path += `/${encodeSegment(name, "name")}`;
  if (subresource !== undefined) path += `/${encodeSegment(subresource, "subresource")}`;
  return path;
}

/** "" or "?a=1&b=2", in the order given; undefined values are left out. */
export function buildQuery(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(key, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

/** The same names that API servers refuse as path segments: percent-encoding does not tame "..". */
function encodeSegment(segment: string, what: string): string {
  if (segment === "" || segment === "." || segment === ".." || /[/%]/.test(segment)) {
    throw new StoreError("BadRequest", `${JSON.stringify(segment)} cannot be a ${what}`);
  }
  return encodeURIComponent(segment);
}
