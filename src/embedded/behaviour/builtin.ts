// Built-in behaviour, the table: which rules and controllers belong to which built-in kind, and what exists at the start.

import type { Service } from "../../api/builtin.ts";
import type { Random } from "../../ports/clock.ts";
import { Kind } from "../kind.ts";
import { checkSubdomainName } from "../name.ts";
import { loadBuiltinTypes } from "../registry.ts";
import type { Rules } from "../rules.ts";
import { resourceKeyOf, type Storage } from "../storage.ts";
import { type Host, System } from "../system.ts";
import { ServiceAllocator } from "./allocator.ts";
import { startCrds } from "./crd.ts";
import { CRD_RULES } from "./crdrules.ts";
import { startEndpointSlices } from "./endpointslice.ts";
import { EVENT_CONVERSION } from "./event.ts";
import { startGarbage } from "./garbage.ts";
import { FIRST_NAMESPACES, NAMESPACE_RULES, startNamespaces } from "./namespace.ts";
import { POD_RULES, startPods } from "./pod.ts";
import { createServiceRules } from "./service.ts";
import {
  CONFIG_MAP_RULES,
  EVENT_RULES,
  LEASE_RULES,
  NODE_RULES,
  SECRET_RULES,
  SERVICE_ACCOUNT_RULES,
} from "./simple.ts";
import { ENDPOINT_SLICE_RULES, LOOPBACK_SLICE_RULES } from "./slicerules.ts";

export interface BuiltinOptions {
  readonly storage: Storage;
  readonly random: Random;
  readonly cidrs: readonly string[];
  readonly takesLoopback: boolean;
}

export interface Builtin {
  readonly kinds: Kind[];
  /** Of the API server's own Service. */
  readonly firstAddress: string;
}

export function createBuiltinKinds(options: BuiltinOptions): Builtin {
  const allocator = new ServiceAllocator(options);
  const rules: Readonly<Record<string, Rules>> = {
    namespaces: NAMESPACE_RULES,
    configmaps: CONFIG_MAP_RULES,
    secrets: SECRET_RULES,
    serviceaccounts: SERVICE_ACCOUNT_RULES,
    nodes: NODE_RULES,
    pods: POD_RULES,
    events: EVENT_RULES,
    services: createServiceRules(allocator),
    "endpointslices.discovery.k8s.io": options.takesLoopback
      ? LOOPBACK_SLICE_RULES
      : ENDPOINT_SLICE_RULES,
    "leases.coordination.k8s.io": LEASE_RULES,
    "customresourcedefinitions.apiextensions.k8s.io": CRD_RULES,
  };
  const kinds = loadBuiltinTypes().map((served) => {
    const own = resourceKeyOf(served.resource);
    const isNewEvent = own === "events.events.k8s.io";
    const key = isNewEvent ? "events" : own;
    return new Kind({
      served,
      key,
      rules: rules[key] ?? { checkName: checkSubdomainName, unconditionalUpdate: true },
      ...(isNewEvent ? { conversion: EVENT_CONVERSION } : {}),
    });
  });
  return { kinds, firstAddress: allocator.firstAddress(allocator.primary) };
}

export function startBehaviours(
  host: Host,
  firstAddress: string,
  endWatches: (kinds: readonly Kind[]) => void,
): void {
  startNamespaces(host);
  startCrds(host, endWatches);
  startPods(host);
  startEndpointSlices(host);
  startGarbage(host);
  const server = new System(host.engine, "kube-apiserver");
  for (const name of FIRST_NAMESPACES) {
    server.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const service: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: {
      type: "ClusterIP",
      clusterIP: firstAddress,
      ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }],
    },
  };
  server.create("services", service);
}
