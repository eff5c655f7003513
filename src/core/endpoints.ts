// Export: the EndpointSlices of an exported Service in, what of them is shared with other clusters out (R49).

import type { Endpoint, EndpointSlice } from "../api/builtin.ts";
import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { EndpointShare } from "../api/share.ts";
import { compareText } from "./order.ts";

/** One share per slice. Empty slices and names instead of addresses are of no use elsewhere. */
export function planEndpointShares(
  source: { readonly cluster: ClusterId; readonly service: ServiceKey },
  slices: readonly EndpointSlice[],
): readonly EndpointShare[] {
  return slices
    .flatMap((slice): EndpointShare[] => {
      const { addressType } = slice;
      if (addressType === "FQDN" || slice.metadata.deletionTimestamp !== undefined) return [];
      const endpoints = (slice.endpoints ?? []).map(shareEndpoint);
      if (endpoints.length === 0) return [];
      const name = slice.metadata.name ?? "";
      return [{ ...source, slice: name, addressType, ports: slice.ports ?? [], endpoints }];
    })
    .toSorted((a, b) => compareText(a.slice, b.slice));
}

/** References to pods mean nothing elsewhere, and hints are computed anew for the merged service (R50). */
export function shareEndpoint(endpoint: Endpoint): Endpoint {
  const { addresses, conditions, hostname, zone, nodeName } = endpoint;
  return {
    addresses,
    ...(conditions === undefined ? {} : { conditions }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(zone === undefined ? {} : { zone }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}
