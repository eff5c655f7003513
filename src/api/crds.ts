// Which CRDs exist and where they go. A file in crds/ for each of them is generated from here.

import { CLUSTER_PROPERTY_CRD } from "./about.ts";
import type { CustomResourceDefinition } from "./builtin.ts";
import { ENDPOINT_SHARE_CRD, SERVICE_SHARE_CRD } from "./hubshare.ts";
import { CLUSTER_MEMBER_CRD } from "./isthmus.ts";
import { JOIN_TOKEN_CRD } from "./jointoken.ts";
import { SERVICE_EXPORT_CRD, SERVICE_IMPORT_CRD } from "./mcs.ts";

/** In every member cluster. */
export const MEMBER_CRDS: readonly CustomResourceDefinition[] = [
  SERVICE_EXPORT_CRD,
  SERVICE_IMPORT_CRD,
  CLUSTER_PROPERTY_CRD,
];

/** In the hub's cluster. */
export const HUB_CRDS: readonly CustomResourceDefinition[] = [
  CLUSTER_MEMBER_CRD,
  SERVICE_SHARE_CRD,
  ENDPOINT_SHARE_CRD,
  JOIN_TOKEN_CRD,
];

export const CRDS: readonly CustomResourceDefinition[] = [...MEMBER_CRDS, ...HUB_CRDS];
