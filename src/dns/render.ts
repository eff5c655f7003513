// DNS, how it is said: record sets in, wire bytes ready to copy behind a question out. Names that are part of the question's
// are pointers into it; fixed TTLs.

import type { ServiceObjects, ZoneOptions } from "./records.ts";
import type { Change } from "./table.ts";

/** Everything that is true whatever services there are: the apex, dns-version, the name server. One change, once. */
export function renderZone(_options: ZoneOptions): Change {
  return { owner: "zone", names: [] };
}

/** `<namespace>.svc.<zone>` exists while the namespace does (R79). */
export function renderNamespace(namespace: string, _options: ZoneOptions): Change {
  return { owner: namespaceOwner(namespace), names: [] };
}

export function renderService({ serviceImport }: ServiceObjects, _options: ZoneOptions): Change {
  const { namespace = "", name = "" } = serviceImport.metadata;
  return { owner: serviceOwner(namespace, name), names: [] };
}

/** Never the same text as a namespaceOwner, whatever a namespace is called. */
export function serviceOwner(namespace: string, name: string): string {
  return `service/${namespace}/${name}`;
}

export function namespaceOwner(namespace: string): string {
  return `namespace/${namespace}`;
}
