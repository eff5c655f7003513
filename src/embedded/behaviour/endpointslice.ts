// Built-in behaviour: EndpointSlices of Services with a selector follow their Pods. Keys are Services; the plan is pure.

import type { EndpointSlice, Pod, Service } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { equalJson } from "../json.ts";
import { type Change, objectKeyOf } from "../storage.ts";
import type { Host } from "../system.ts";
import { MANAGED_BY, MANAGER, planSlices, SERVICE_NAME } from "./sliceplan.ts";

const SLICES = "endpointslices.discovery.k8s.io";

export function startEndpointSlices(host: Host): void {
  const { storage } = host.engine;
  const look = (namespace: string, name: string): void => {
    const key = objectKeyOf(namespace, name);
    host.background.add(`endpointslice/${key}`, () => reconcile(host, namespace, name));
  };
  const lookForPod = (pod: KubeObject): void => {
    const namespace = pod.metadata.namespace ?? "";
    for (const service of storage.list("services", namespace)) {
      if (selects(service, pod)) look(namespace, service.metadata.name ?? "");
    }
  };
  storage.onChange((change) => {
    const { metadata } = change.object;
    switch (change.resource) {
      case "services":
        if (change.type !== "DELETED") look(metadata.namespace ?? "", metadata.name ?? "");
        return;
      case "pods":
        // Of the state before too: a label that is gone takes the pod out.
        if (change.previous !== undefined) lookForPod(change.previous);
        if (change.type !== "DELETED") lookForPod(change.object);
        return;
      case "nodes":
        if (isZoneChange(change)) {
          for (const pod of storage.list("pods")) {
            if ((pod as Pod).spec?.nodeName === metadata.name) lookForPod(pod);
          }
        }
        return;
      case SLICES: {
        const labels = { ...change.previous?.metadata.labels, ...metadata.labels };
        const name = labels[SERVICE_NAME];
        if (labels[MANAGED_BY] === MANAGER && name !== undefined)
          look(metadata.namespace ?? "", name);
        return;
      }
      default:
    }
  });
}

/** Heartbeats change nodes all the time and concern no slice. */
function isZoneChange(change: Change): boolean {
  if (change.type !== "MODIFIED") return true;
  return !equalJson(change.previous?.metadata.labels ?? {}, change.object.metadata.labels ?? {});
}

function selects(service: Service, pod: KubeObject): boolean {
  const wanted = Object.entries(service.spec?.selector ?? {});
  const labels = pod.metadata.labels ?? {};
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}

function reconcile(host: Host, namespace: string, name: string): void {
  const { storage, registry } = host.engine;
  const kind = registry.findStored(SLICES);
  const service: Service | undefined = storage.get("services", objectKeyOf(namespace, name));
  if (kind === undefined || service === undefined) return;
  if (service.metadata.deletionTimestamp !== undefined) return;
  if (service.spec?.type === "ExternalName") return;
  if (Object.keys(service.spec?.selector ?? {}).length === 0) return;
  const slices = storage
    .list(SLICES, namespace)
    .filter(
      ({ metadata }) =>
        metadata.labels?.[SERVICE_NAME] === name &&
        metadata.labels[MANAGED_BY] === MANAGER &&
        metadata.deletionTimestamp === undefined,
    );
  const plan = planSlices({
    service,
    pods: storage.list("pods", namespace).filter((pod) => selects(service, pod)),
    findNode: (node) => storage.get("nodes", node),
    slices: slices as EndpointSlice[],
  });
  for (const slice of plan.create) host.system.create(SLICES, slice);
  for (const slice of plan.update) {
    host.system.update(SLICES, objectKeyOf(namespace, slice.metadata.name ?? ""), () => slice);
  }
  for (const slice of plan.remove) host.system.delete(kind, slice);
}
