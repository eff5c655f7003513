// Built-in behaviour, the table: which rules and controllers belong to which built-in kind, and what exists at the start.

import type { Random } from "../../ports/clock.ts";
import { Kind } from "../kind.ts";
import { checkLabelName, checkSubdomainName } from "../name.ts";
import { loadBuiltinTypes } from "../registry.ts";
import type { Rules } from "../rules.ts";
import { resourceKeyOf, type Storage } from "../storage.ts";
import { type Host, System } from "../system.ts";
import { startCrds } from "./crd.ts";
import { CRD_RULES } from "./crdrules.ts";
import { EVENT_CONVERSION } from "./event.ts";
import { FIRST_NAMESPACES, NAMESPACE_RULES, startNamespaces } from "./namespace.ts";
import { POD_RULES } from "./pod.ts";
import {
  CONFIG_MAP_RULES,
  EVENT_RULES,
  LEASE_RULES,
  NODE_RULES,
  SECRET_RULES,
  SERVICE_ACCOUNT_RULES,
} from "./simple.ts";

export interface BuiltinOptions {
  readonly storage: Storage;
  readonly random: Random;
  readonly cidrs: readonly string[];
}

export function createBuiltinKinds(options: BuiltinOptions): Kind[] {
  void options;
  const rules: Readonly<Record<string, Rules>> = {
    namespaces: NAMESPACE_RULES,
    configmaps: CONFIG_MAP_RULES,
    secrets: SECRET_RULES,
    serviceaccounts: SERVICE_ACCOUNT_RULES,
    nodes: NODE_RULES,
    pods: POD_RULES,
    events: EVENT_RULES,
    services: { checkName: checkLabelName, unconditionalUpdate: true, returnsDeleted: true },
    "leases.coordination.k8s.io": LEASE_RULES,
    "customresourcedefinitions.apiextensions.k8s.io": CRD_RULES,
  };
  return loadBuiltinTypes().map((served) => {
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
}

export function startBehaviours(host: Host, endWatches: (kinds: readonly Kind[]) => void): void {
  startNamespaces(host);
  startCrds(host, endWatches);
  const server = new System(host.engine, "kube-apiserver");
  for (const name of FIRST_NAMESPACES) {
    server.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}
