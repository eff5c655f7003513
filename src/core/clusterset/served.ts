// Clusterset: slices of an import in, whether traffic gets to their endpoints out, as kube-proxy and DNS read them.

import type { EndpointSlice } from "../../api/builtin.ts";
import type { ClusterId } from "../../api/names.ts";
import { slicesFrom, type Standing } from "./standing.ts";
import { isAttached, isEndpointReady } from "./view.ts";

/** Without a virtual IP it is DNS that leads to endpoints, and DNS needs no port. */
export function isHeadless({ importer, service }: Standing): boolean {
  return importer.imports.get(service)?.spec?.type === "Headless";
}

/** kube-proxy sends nothing to a slice that names no port. */
export function hasPorts({ ports }: EndpointSlice, standing: Standing): boolean {
  return isHeadless(standing) || (ports ?? []).length > 0;
}

/** Some endpoint of that source gets traffic. */
export function isServed(standing: Standing, source: ClusterId): boolean {
  return slicesFrom(standing.importer, standing.service, source).some(
    (slice) =>
      (isHeadless(standing) || isAttached(slice, standing)) &&
      hasPorts(slice, standing) &&
      (slice.endpoints ?? []).some(isEndpointReady),
  );
}
