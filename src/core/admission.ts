// Admission: what a source shares and what is declared of it in, what of it this cluster takes in out, and a sentence for
// whatever it does not. A member is trusted with nothing but its own share.

import type { ClusterId } from "../api/names.ts";

export type RejectionReason =
  /** Not inside the ranges that the administrator declared for the source. */
  | "AddressNotDeclared"
  /** Loopback, link-local, multicast, unspecified, broadcast, or not an address at all. */
  | "AddressForbidden"
  /** Inside the service range of the importing cluster: it would lead to one of its own services. */
  | "AddressInServiceRange"
  /** More of something than one source may have. */
  | "TooMany"
  /** Not what a share looks like. */
  | "Malformed";

/** Part of one source's share that was not taken in. */
export interface Rejection {
  readonly cluster: ClusterId;
  readonly reason: RejectionReason;
  /** Endpoints, or for TooMany and Malformed whatever `message` speaks of. */
  readonly count: number;
  /** A sentence that names an example and says what to do. */
  readonly message: string;
}
