// CLI: what the demo's story is told with: objects to make, things to wait for, tables to show. All of it goes through the
// API servers; nothing that is printed is made up here.

import pc from "picocolors";
import {
  ENDPOINT_SLICE,
  NAMESPACE,
  type Pod,
  POD,
  SERVICE,
  type Service,
  type ServicePort,
} from "../api/builtin.ts";
import { CLUSTER_PROPERTY } from "../api/about.ts";
import { SERVICE_EXPORT } from "../api/mcs.ts";
import { CLUSTER_ID_PROPERTY, SERVICE_NAME_LABEL } from "../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import { buildPath } from "../kube/path.ts";
import { sleep } from "../ports/clock.ts";
import type { CliContext } from "./context.ts";
import type { RunningCluster } from "./embeddedCluster.ts";
import { renderTable, type Table } from "./table.ts";

export const SHOP = "shop";
export const CHECKOUT = { namespace: SHOP, name: "checkout" } as const;

const POLL_MS = 20;
const PATIENCE_MS = 10_000;

export interface Stage {
  title(text: string): void;
  say(text: string): void;
  /** Prints what `kubectl get` would. */
  show(cluster: RunningCluster, resource: Resource, selector?: string): Promise<void>;
  /** Fails when it has not come true in time: the demo never claims what did not happen. */
  until(what: string, isTrue: () => Promise<boolean>): Promise<void>;
}

export function createStage(context: CliContext): Stage {
  const { bold, dim, cyan } = pc.createColors(context.color);
  let step = 0;
  return {
    title(text) {
      step += 1;
      context.out("");
      context.out(bold(`${step}. ${text}`));
    },
    say: (text) => context.out(`   ${text}`),
    async show(cluster, resource, selector) {
      const scope = resource.namespaced ? ` -n ${SHOP}` : "";
      const filter = selector === undefined ? "" : ` -l ${selector}`;
      context.out(
        `   ${cyan(cluster.name)} ${dim(`$ kubectl get ${resource.plural}${scope}${filter}`)}`,
      );
      const answer = await cluster.client.request("GET", buildPath(resource, { namespace: SHOP }), {
        headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
        query: { labelSelector: selector },
      });
      const table = answer.body as Table;
      const lines = (table.rows ?? []).length === 0 ? ["No resources found."] : renderTable(table);
      for (const line of lines) context.out(`   ${line}`);
    },
    async until(what, isTrue) {
      const deadline = context.clock.monotonic() + PATIENCE_MS;
      while (!(await isTrue())) {
        if (context.clock.monotonic() > deadline) throw new Error(`waited in vain until ${what}`);
        await sleep(context.clock, POLL_MS, context.signal);
      }
    },
  };
}

async function create<T extends KubeObject>(
  cluster: RunningCluster,
  resource: Resource<T>,
  object: Omit<T, "apiVersion" | "kind">,
): Promise<T> {
  const typed = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    ...object,
  } as unknown as T;
  return cluster.client.create(resource, typed);
}

export async function nameCluster(cluster: RunningCluster): Promise<void> {
  await create(cluster, CLUSTER_PROPERTY, {
    metadata: { name: CLUSTER_ID_PROPERTY },
    spec: { value: cluster.name },
  });
  await create(cluster, NAMESPACE, { metadata: { name: SHOP } });
}

export async function createCheckout(
  cluster: RunningCluster,
  ports: readonly ServicePort[],
): Promise<Service> {
  return create(cluster, SERVICE, {
    metadata: CHECKOUT,
    spec: { selector: { app: CHECKOUT.name }, ports },
  });
}

/** A pod as a kubelet would report it: running and ready at this address. */
export async function createPod(cluster: RunningCluster, name: string, ip: string): Promise<void> {
  const pod = await create<Pod>(cluster, POD, {
    metadata: { namespace: SHOP, name, labels: { app: CHECKOUT.name } },
    spec: {
      containers: [{ name: "checkout", image: "checkout", ports: [{ containerPort: 8080 }] }],
    },
  });
  const status = {
    phase: "Running",
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        name: "checkout",
        image: "checkout",
        imageID: "",
        ready: true,
        restartCount: 0,
        state: { running: {} },
      },
    ],
  };
  await cluster.client.replace(POD, { ...pod, status }, { subresource: "status" });
}

export async function exportCheckout(cluster: RunningCluster): Promise<void> {
  await create(cluster, SERVICE_EXPORT, { metadata: CHECKOUT });
}

/** Addresses of the checkout that this cluster can reach, from all clusters. */
export async function listBackends(cluster: RunningCluster): Promise<readonly string[]> {
  const page = await cluster.client.list(ENDPOINT_SLICE, {
    namespace: SHOP,
    labelSelector: IMPORTED,
  });
  return page.items.flatMap((slice) => slice.endpoints.flatMap((endpoint) => endpoint.addresses));
}

export const IMPORTED = `${SERVICE_NAME_LABEL}=${CHECKOUT.name}`;
