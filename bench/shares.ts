// Bench: a member that shares many services on a hub, all at once, and takes them back.

import type { EndpointSlice, Service } from "../src/api/builtin.ts";
import type { ServiceExport } from "../src/api/mcs.ts";
import { serviceKey } from "../src/api/names.ts";
import type { Contribution } from "../src/api/share.ts";
import { createLog } from "../src/cli/log.ts";
import { planEndpointShares } from "../src/core/endpoints.ts";
import { planShare } from "../src/core/export.ts";
import { createKubernetesHub } from "../src/hub/kubernetes.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { SOURCE, SPACE } from "./access.ts";
import { forEach, serviceName } from "./source.ts";

export const ENDPOINTS = 100;
const BEAT_MS = 5_000;

export interface Source {
  /** Shares so many services. */
  fill(count: number): Promise<void>;
  /** Shares nothing any more. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/** The exporting member, kept alive from here. It has nothing to say yet. */
export async function startSource(hub: KubeClient): Promise<Source> {
  const log = createLog("error", (line) => process.stderr.write(`${line}\n`));
  const shared = { store: hub, clock: systemClock, random: systemRandom, log };
  const source = createKubernetesHub({ ...shared, cluster: SOURCE });
  await source.whenSynced();
  await source.completeSync(SOURCE);
  // One that fails is made up for by the next; if none succeeds nothing is imported, and the bench fails.
  const beat = (): void => void source.heartbeat(SOURCE).catch(() => undefined);
  beat();
  const timer = setInterval(beat, BEAT_MS);
  return {
    fill: (count) => forEach(count, (index) => source.publish(planContribution(index))),
    async empty() {
      const services = [...source.published(SOURCE)];
      await forEach(services.length, async (index) => {
        const service = services[index];
        if (service !== undefined) await source.withdraw(SOURCE, service);
      });
    },
    async stop() {
      clearInterval(timer);
      await source.stop();
    },
  };
}

/** As an agent does it: from the Service, its export and its slice. */
function planContribution(index: number): Contribution {
  const name = serviceName(index);
  const service = serviceKey({ namespace: SPACE, name });
  const exported = { cluster: SOURCE, namespace: SPACE, name, namespaceDenied: false };
  const share = planShare({ ...exported, ...renderExported(name) });
  if (share === undefined) throw new Error(`${name} cannot be exported`);
  return {
    share,
    endpoints: planEndpointShares({ cluster: SOURCE, service }, [renderSlice(index)]),
  };
}

function renderExported(name: string): { service: Service; serviceExport: ServiceExport } {
  const metadata = { namespace: SPACE, name, creationTimestamp: "2026-01-02T03:04:05Z" };
  return {
    service: {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        ports: [{ name: "http", protocol: "TCP", port: 80 }],
        ipFamilies: ["IPv4"],
        sessionAffinity: "None",
        internalTrafficPolicy: "Cluster",
      },
    },
    serviceExport: {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata,
    },
  };
}

/** As kube-controller-manager writes them; no two endpoints have the same address. */
function renderSlice(index: number): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: SPACE, name: `${serviceName(index)}-x7k2p` },
    addressType: "IPv4",
    endpoints: Array.from({ length: ENDPOINTS }, (_, at) => ({
      addresses: [addressOf(index * ENDPOINTS + at)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${at % 50}`,
      zone: `eu-west-1${"abc"[at % 3]}`,
    })),
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  };
}

function addressOf(number: number): string {
  return `10.${64 + Math.floor(number / 62_500)}.${Math.floor(number / 250) % 250}.${(number % 250) + 1}`;
}
