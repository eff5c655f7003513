// A Pod, as far as a kubelet without containers runs it: the object in, its command's environment and probes out. Pure.

import type { Pod } from "../../src/api/builtin.ts";
import { defineResource, type KubeObject } from "../../src/api/object.ts";
import type { Image, Readiness } from "./images.ts";
import type { NodePlan, PodAddresses } from "./podnetwork.ts";

/** On a Pod: "false" makes it not ready, whatever its process says. */
export const READY_ANNOTATION = "isthmus.test/ready";

interface Probe {
  readonly tcpSocket?: { readonly port: number | string };
  readonly httpGet?: { readonly port: number | string; readonly path?: string };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

/** A probe that is asked again and again, and how many times in a row it has to fail to count. */
export interface Rounds {
  readonly probe: Readiness;
  readonly everyMs: number;
  readonly failures: number;
}

interface FieldRef {
  readonly fieldPath: string;
}

export interface FilesFrom {
  readonly name: string;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
  readonly optional?: boolean;
}

/** What a projected volume is made of. */
export interface Projection {
  readonly configMap?: FilesFrom;
  readonly secret?: FilesFrom;
  readonly serviceAccountToken?: { readonly path: string; readonly expirationSeconds?: number };
  readonly downwardAPI?: {
    readonly items?: readonly { readonly path: string; readonly fieldRef?: FieldRef }[];
  };
}

export interface Volume {
  readonly name: string;
  readonly configMap?: FilesFrom;
  readonly secret?: Omit<FilesFrom, "name"> & { readonly secretName: string };
  readonly projected?: { readonly sources?: readonly Projection[] };
  readonly emptyDir?: object;
}

export interface RunContainer {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: FieldRef };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface RunPod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly restartPolicy?: "Always" | "OnFailure" | "Never";
    readonly terminationGracePeriodSeconds?: number;
    readonly containers: readonly RunContainer[];
    readonly volumes?: readonly Volume[];
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

/** What the container asks for, who it is and where its API server is: of the last two ours get more than they ask for. */
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
    KUBERNETES_SERVICE_HOST: plan.api4,
    KUBERNETES_SERVICE_PORT: "443",
    ...Object.fromEntries(
      asked.map(({ name, value, valueFrom }) => {
        const field = valueFrom?.fieldRef;
        return [name, field === undefined ? (value ?? "") : readField(pod, field, addresses)];
      }),
    ),
  };
}

/** Throws for what nobody asked for yet. */
export function readField(pod: RunPod, { fieldPath }: FieldRef, addresses?: PodAddresses): string {
  const { metadata, spec } = pod;
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace,
    "metadata.uid": metadata.uid,
    "spec.nodeName": spec?.nodeName,
    "spec.serviceAccountName": spec?.serviceAccountName,
    "status.podIP": addresses?.[4],
  };
  const value = fields[fieldPath];
  if (value !== undefined) return value;
  throw new Error(`Pod ${metadata.name} wants its ${fieldPath}, which this kubelet does not know.`);
}

export function readinessOf(container: RunContainer, image: Image): Readiness | undefined {
  const { readinessProbe } = container;
  return readinessProbe === undefined ? image.ready : askedBy(container, readinessProbe);
}

/** What a container is asked for as long as it runs; a program of ours that says once that it is ready stays so. */
export function roundsOf(
  container: RunContainer,
  kind: "readinessProbe" | "livenessProbe",
): Rounds | undefined {
  const asked = container[kind];
  if (asked === undefined) return undefined;
  const { periodSeconds = 10, failureThreshold: failures = 3 } = asked;
  return { probe: askedBy(container, asked), everyMs: 1000 * periodSeconds, failures };
}

function askedBy(container: RunContainer, { tcpSocket, httpGet }: Probe): Readiness {
  const port = httpGet?.port ?? tcpSocket?.port;
  if (port === undefined) throw new Error(`A probe of ${container.name} asks in no known way.`);
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = named ?? Number(port);
  return httpGet === undefined ? { port: number } : { port: number, path: httpGet.path ?? "/" };
}

export function isWantedReady({ metadata }: RunPod): boolean {
  return metadata.annotations?.[READY_ANNOTATION] !== "false";
}
