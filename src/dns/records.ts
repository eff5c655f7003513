// DNS, what exists: one service, namespace or zone in, the record sets of its names out (N1–N9, R72–R80). Plain data relative to
// the zone, in a stable order; knows nothing of bytes.

import type { EndpointSlice } from "../api/builtin.ts";
import type { ServiceImport } from "../api/mcs.ts";

export type RecordType = "A" | "AAAA" | "SRV" | "TXT" | "NS" | "SOA";

export interface Place {
  readonly cluster?: string;
  readonly zone?: string;
  readonly region?: string;
}

export interface ZoneOptions {
  /** "clusterset.local"; the first is the main one; every zone has the same content. */
  readonly zones: readonly string[];
  readonly ttlSeconds: number;
  readonly headless: "all" | "near";
  /** Where the clients of this server are. */
  readonly here: Place;
  readonly regionOf: (cluster: string) => string | undefined;
  /** Addresses of the zone's name server `ns.dns.<zone>`. */
  readonly nsAddresses?: readonly string[];
}

export interface ServiceObjects {
  readonly serviceImport: ServiceImport;
  /** All slices with the label multicluster.kubernetes.io/service-name of this import, in its namespace. */
  readonly slices: readonly EndpointSlice[];
}
