// A Pod, as far as a kubelet without containers runs it: the object in, its command's environment and readiness out. Pure.

import type { Pod } from "../../src/api/builtin.ts";
import { defineResource, type KubeObject } from "../../src/api/object.ts";
import type { Image, Readiness } from "./images.ts";
import type { NodePlan, PodAddresses } from "./podnetwork.ts";

/** On a Pod: "false" makes it not ready, whatever its process says. */
export const READY_ANNOTATION = "isthmus.test/ready";

interface Probe {
  readonly tcpSocket?: { readonly port: number | string };
  readonly httpGet?: { readonly port: number | string; readonly path?: string };
}

export interface RunContainer {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly readinessProbe?: Probe;
}

export interface RunPod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly restartPolicy?: "Always" | "OnFailure" | "Never";
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly RunContainer[];
  };
  readonly status?: Pod["status"] & { readonly phase?: string };
}
export const RUN_POD = defineResource<RunPod>({
  apiVersion: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
});

export function requireContainer({ metadata, spec }: RunPod): RunContainer {
  const [container, ...others] = spec?.containers ?? [];
  if (container !== undefined && others.length === 0) return container;
  throw new Error(`Pod ${metadata.name} has several containers; this kubelet runs one.`);
}

/** What the container asks for, and who it is: real ones ask for that by field references, ours get it. */
export function renderEnvironment(
  pod: RunPod,
  plan: NodePlan,
  addresses: PodAddresses,
): Readonly<Record<string, string>> {
  const asked = requireContainer(pod).env ?? [];
  return {
    HOSTNAME: pod.metadata.name ?? "",
    POD_NAME: pod.metadata.name ?? "",
    POD_NAMESPACE: pod.metadata.namespace ?? "",
    POD_IP: addresses[4],
    POD_IPS: `${addresses[4]},${addresses[6]}`,
    NODE_NAME: plan.name,
    ...Object.fromEntries(asked.map(({ name, value }) => [name, value ?? ""])),
  };
}

export function readinessOf(container: RunContainer, image: Image): Readiness | undefined {
  const { tcpSocket, httpGet } = container.readinessProbe ?? {};
  if (httpGet !== undefined) return { port: Number(httpGet.port), path: httpGet.path ?? "/" };
  if (tcpSocket !== undefined) return { port: Number(tcpSocket.port) };
  return image.ready;
}

export function isWantedReady({ metadata }: RunPod): boolean {
  return metadata.annotations?.[READY_ANNOTATION] !== "false";
}
