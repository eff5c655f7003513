// CLI: `isthmus demo`: two embedded clusters and a story told with real objects, read back from the servers.

import pc from "picocolors";
import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NAMESPACE,
  POD,
  type Pod,
  SERVICE,
} from "../api/builtin.ts";
import { CLUSTER_PROPERTY } from "../api/about.ts";
import { CRDS } from "../api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import type { KubeObject, ObjectRef, Resource } from "../api/object.ts";
import { apiVersionOf } from "../api/object.ts";
import { installCrds } from "../controllers/crd.ts";
import { isStoreError } from "../ports/store.ts";
import { createInformer } from "../runtime/informer.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { type RunningCluster, startEmbeddedCluster } from "./embeddedCluster.ts";
import { renderRows, renderTable, type Table } from "./table.ts";

const NAMESPACE_NAME = "shop";
const SERVICE_NAME = "checkout";
