// Hub: a ServiceShare or EndpointShare as the API server sent it in, what an agent keeps of it out. Everybody's endpoints
// are held in every cluster, so they are held as text, one byte for each character, and read when somebody asks.

import {
  ENDPOINT_SHARE,
  type EndpointShareObject,
  SERVICE_SHARE,
  type ServiceShareObject,
} from "../api/hubshare.ts";
import { type ClusterId, memberOfNamespace, type ServiceKey } from "../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import { foldEndpoints, unfoldEndpoints } from "../core/columns.ts";
import { isRecord } from "../core/untrusted.ts";
import { serviceOfShareName } from "../core/wire.ts";
import { narrowJson } from "../runtime/narrow.ts";

/** Object metadata as far as writes need it: labels, annotations and managedFields of others are not worth their memory. */
export interface PackedShare extends KubeObject {
  /** Undefined for a namespace that belongs to no member. */
  readonly cluster: ClusterId | undefined;
  /** The spec, its endpoints folded (core/columns.ts); undefined when it is larger than any share can be, or when it belongs to nobody. */
  readonly text: string | undefined;
  /** How many of them are in the text. */
  readonly endpoints: number;
}

/** A thousand endpoints with everything that may be said of them are about half of it. */
export const TEXT_MAX_LENGTH = 1_048_576;

function createPacker(resource: Resource) {
  const { kind } = resource;
  const apiVersion = apiVersionOf(resource);
  /** One copy of each namespace and id, not one for every share. */
  const places = new Map<string, { namespace: string; cluster: ClusterId | undefined }>();

  return (object: ServiceShareObject | EndpointShareObject): PackedShare => {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = object.metadata;
    let place = places.get(namespace);
    if (place === undefined) {
      place = { namespace, cluster: memberOfNamespace(namespace) };
      places.set(namespace, place);
    }
    // What belongs to nobody is never read.
    const isRead = place.cluster !== undefined && serviceOfShareName(name) !== undefined;
    const text = isRead ? pack(object.spec) : undefined;
    return {
      apiVersion,
      kind,
      metadata: { namespace: place.namespace, name, uid, resourceVersion },
      cluster: place.cluster,
      text,
      endpoints: text === undefined ? 0 : countEndpoints(object.spec),
    };
  };
}

export const packServiceShare = createPacker(SERVICE_SHARE);
export const packEndpointShare = createPacker(ENDPOINT_SHARE);

export function unpackSpec(share: PackedShare): unknown {
  return share.text === undefined ? undefined : unfoldEndpoints(share.text);
}

/** Undefined for a name that no share has. */
export function serviceOfShare(share: PackedShare): ServiceKey | undefined {
  return serviceOfShareName(share.metadata.name ?? "");
}

function pack(spec: unknown): string | undefined {
  const text = foldEndpoints(spec);
  if (text === undefined || text.length > TEXT_MAX_LENGTH) return undefined;
  return narrowJson(text);
}

function countEndpoints(spec: unknown): number {
  const endpoints = isRecord(spec) ? spec["endpoints"] : undefined;
  return Array.isArray(endpoints) ? endpoints.length : 0;
}
