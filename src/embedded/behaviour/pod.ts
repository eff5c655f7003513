// Built-in behaviour: defaults and rules of Pods. There is no kubelet: status is what clients write. Pure.

import type { KubeObject } from "../../api/object.ts";
import { forbidden, required } from "../schema/failure.ts";
import { equalJson, isJsonArray, isJsonObject } from "../json.ts";
import { formatTime } from "../../ports/clock.ts";
import { checkSubdomainName } from "../name.ts";
import type { Rules } from "../rules.ts";
import { type Host, partOf, withPart } from "../system.ts";
import type { Json, JsonObject } from "../types.ts";
import { withMetadata } from "../write.ts";

const SPEC_DEFAULTS: JsonObject = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  serviceAccountName: "default",
  serviceAccount: "default",
  securityContext: {},
  schedulerName: "default-scheduler",
  priority: 0,
  enableServiceLinks: true,
  preemptionPolicy: "PreemptLowerPriority",
};

/** What the admission of real clusters adds, so that pods outlive a short absence of their node. */
const TOLERATIONS: readonly JsonObject[] = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}));

const FROZEN_SPEC =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

export const POD_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  returnsDeleted: true,
  selectableFields: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  raisesGeneration: (next, old) => !equalJson(partOf(next, "spec"), partOf(old, "spec")),
  applyDefaults: (object) => {
    const spec = partOf(object, "spec");
    return withPart(object, "spec", {
      ...SPEC_DEFAULTS,
      ...spec,
      ...(isList(spec["containers"])
        ? { containers: spec["containers"].map(defaultContainer) }
        : {}),
    });
  },
  prepareCreate: (object) => {
    const own = partOf(object, "spec")["tolerations"];
    const tolerations = isList(own) ? [...own, ...TOLERATIONS] : TOLERATIONS;
    const status = { phase: "Pending", qosClass: "BestEffort" };
    return { ...withPart(object, "spec", { tolerations }), status } as KubeObject;
  },
  prepareStatus: (sent, old) => {
    const { qosClass } = partOf(old, "status");
    const next = withPart(sent, "status", {
      ...(qosClass === undefined ? {} : { qosClass }),
      ...partOf(sent, "status"),
    });
    // podIP and podIPs are two spellings of one thing; the singular one wins when they differ.
    const { podIP, podIPs } = partOf(next, "status");
    const first = isList(podIPs) && isJsonObject(podIPs[0]) ? podIPs[0]["ip"] : undefined;
    if (typeof podIP !== "string" || podIP === "") {
      return typeof first === "string" ? withPart(next, "status", { podIP: first }) : next;
    }
    return podIP === first ? next : withPart(next, "status", { podIPs: [{ ip: podIP }] });
  },
  prepareDelete: (object, context) => {
    const seconds = gracePeriod(object, context.gracePeriodSeconds);
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = object.metadata;
    if (deletionTimestamp === undefined) {
      if (seconds === 0) return undefined;
      return withMetadata(object, {
        ...object.metadata,
        deletionTimestamp: formatTime(context.nowMs + seconds * 1000),
        deletionGracePeriodSeconds: seconds,
        ...(generation === undefined ? {} : { generation: generation + 1 }),
      });
    }
    // Asked again: only a shorter wait counts, and none at all ends it now.
    const asked = context.gracePeriodSeconds;
    if (asked === undefined || asked >= (deletionGracePeriodSeconds ?? 0)) {
      return (deletionGracePeriodSeconds ?? 0) > 0 ? object : undefined;
    }
    if (asked === 0) return undefined;
    return withMetadata(object, {
      ...object.metadata,
      deletionTimestamp: formatTime(context.nowMs + asked * 1000),
      deletionGracePeriodSeconds: asked,
    });
  },
  holdsDeletion: (object) => (object.metadata.deletionGracePeriodSeconds ?? 0) > 0,
  validate: (object) => {
    const { containers } = partOf(object, "spec");
    if (!isList(containers) || containers.length === 0) return [required("spec.containers")];
    return containers.flatMap((container, at) =>
      isJsonObject(container) && typeof container["name"] === "string" && container["name"] !== ""
        ? []
        : [required(`spec.containers[${at}].name`)],
    );
  },
  validateUpdate: (next, old) =>
    equalJson(frozenPart(next), frozenPart(old)) ? [] : [forbidden("spec", FROZEN_SPEC)],
};

/** A pod that runs nowhere, or no longer, has nothing to end gracefully. */
function gracePeriod(pod: KubeObject, asked: number | undefined): number {
  const { nodeName, terminationGracePeriodSeconds } = partOf(pod, "spec");
  const { phase } = partOf(pod, "status");
  if ((nodeName ?? "") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const own = terminationGracePeriodSeconds;
  return asked ?? (typeof own === "number" ? own : 30);
}

/** There is no kubelet to report the end: a pod is gone when its grace period is over. */
export function startPods(host: Host): void {
  const { storage, clock, registry } = host.engine;
  storage.onChange((change) => {
    const { deletionTimestamp } = change.object.metadata;
    if (
      change.resource !== "pods" ||
      change.type === "DELETED" ||
      deletionTimestamp === undefined
    ) {
      return;
    }
    if (change.previous?.metadata.deletionTimestamp === deletionTimestamp) return;
    const waitMs = Math.max(0, Date.parse(deletionTimestamp) - clock.now());
    host.background.later(waitMs, `pod/${change.key}/${deletionTimestamp}`, () => {
      const pod = storage.get("pods", change.key);
      const kind = registry.findStored("pods");
      if (kind === undefined || pod?.metadata.deletionTimestamp !== deletionTimestamp) return;
      host.system.delete(kind, pod, { gracePeriodSeconds: 0 });
    });
  });
}

function isList(value: unknown): value is readonly Json[] {
  return isJsonArray(value);
}

function defaultContainer(container: Json): Json {
  if (!isJsonObject(container)) return container;
  const image = typeof container["image"] === "string" ? container["image"] : "";
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  return {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: tag === undefined || tag === "latest" ? "Always" : "IfNotPresent",
    ...container,
  };
}

function frozenPart(object: KubeObject): JsonObject {
  const {
    containers,
    initContainers: _init,
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    terminationGracePeriodSeconds: _grace,
    ...rest
  } = partOf(object, "spec") as JsonObject;
  const bare = isList(containers)
    ? containers.map((container) => {
        if (!isJsonObject(container)) return container;
        const { image: _image, imagePullPolicy: _policy, ...kept } = container;
        return kept;
      })
    : [];
  return { ...rest, containers: bare };
}
