// Export: a ServiceExport and the Service of its name in, this cluster's share and the export's conditions out.
// Looks at this cluster only; what other clusters say comes in through the merge.

import type { Service } from "../api/builtin.ts";
import { SHARE_LIMITS } from "../api/hubshare.ts";
import { SERVICE_EXPORT, type ServiceExport } from "../api/mcs.ts";
import { type ClusterId, serviceKey, WHEN_LOST_ANNOTATION } from "../api/names.ts";
import {
  pickTrafficPolicy,
  type ServiceShare,
  sharePort,
  WHEN_LOST,
  type WhenLost,
} from "../api/share.ts";
import { type Judgement, planConditions } from "./condition.ts";
import { findBadMark } from "./exported.ts";
import type { MergedService } from "./merge.ts";
import { isSameData, type Write } from "./write.ts";

export interface ExportInput {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly name: string;
  readonly serviceExport: ServiceExport | undefined;
  readonly service: Service | undefined;
  readonly namespaceDenied: boolean;
}

/** So much of a wrong value is repeated to its owner. */
const SHOWN_LENGTH = 40;

/** What stands in the way of an export, in the words of its Valid condition. */
interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Undefined when this cluster has nothing to share: then whatever it shared before is withdrawn (R1, R10, R11). */
export function planShare(input: ExportInput): ServiceShare | undefined {
  const { serviceExport, service } = input;
  if (!isLiving(serviceExport) || !isLiving(service)) return undefined;
  if (findRefusal(input) !== undefined) return undefined;
  const spec = service.spec ?? {};
  const { exportedLabels: labels, exportedAnnotations: annotations } = serviceExport.spec ?? {};
  return {
    cluster: input.cluster,
    service: serviceKey(input),
    exportedAt: serviceExport.metadata.creationTimestamp ?? "",
    type: spec.clusterIP === "None" ? "Headless" : "ClusterSetIP",
    ports: (spec.ports ?? []).map(sharePort),
    ipFamilies: spec.ipFamilies ?? ["IPv4"],
    ...pickTrafficPolicy(spec),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...readWhenLost(serviceExport),
  };
}

/** A word that we do not know is no word: the export goes on, and its owner is told. */
function readWhenLost(serviceExport: ServiceExport | undefined): { readonly whenLost?: WhenLost } {
  const asked = serviceExport?.metadata.annotations?.[WHEN_LOST_ANNOTATION];
  const whenLost = WHEN_LOST.find((word) => word === asked);
  return whenLost === undefined ? {} : { whenLost };
}

/**
 * Valid, Ready and Conflict, in this order. An export that takes no part in the merge shows no conflict (R7).
 * `merged` is what the whole clusterset makes of the service; absent until the share has been published.
 */
export function judgeExport(
  input: ExportInput,
  outcome: {
    readonly published: boolean;
    readonly merged: MergedService | undefined;
    /** Not every export of the service is known yet: what was said of conflicts before still stands. */
    readonly isHeld?: boolean;
  },
): readonly Judgement[] {
  const refusal = findRefusal(input);
  if (refusal !== undefined) {
    return [
      { type: "Valid", status: "False", ...refusal },
      {
        type: "Ready",
        status: "False",
        reason: "Failed",
        message: "The service is not offered to the clusterset: see the Valid condition.",
      },
    ];
  }
  const valid: Judgement = {
    type: "Valid",
    status: "True",
    reason: "Valid",
    message: `The service can be exported.${remarkOnWhenLost(input.serviceExport)}`,
  };
  const { merged, published } = outcome;
  if (!published || merged === undefined) {
    const message = "The service is being offered to the clusterset.";
    return [valid, { type: "Ready", status: "False", reason: "Pending", message }];
  }
  return [
    valid,
    {
      type: "Ready",
      status: "True",
      reason: "Exported",
      message: "The service is offered to the clusterset.",
    },
    (outcome.isHeld === true ? readConflict(input.serviceExport) : undefined) ??
      judgeConflict(merged),
  ];
}

function remarkOnWhenLost(serviceExport: ServiceExport | undefined): string {
  const asked = serviceExport?.metadata.annotations?.[WHEN_LOST_ANNOTATION];
  if (asked === undefined || readWhenLost(serviceExport).whenLost !== undefined) return "";
  const shown = asked.length > SHOWN_LENGTH ? `${asked.slice(0, SHOWN_LENGTH)}…` : asked;
  return ` Annotation ${WHEN_LOST_ANNOTATION} has the value ${JSON.stringify(shown)}, which means nothing, so that endpoints are withdrawn when this cluster is lost; give it one of ${WHEN_LOST.join(", ")}.`;
}

function readConflict(serviceExport: ServiceExport | undefined): Judgement | undefined {
  return serviceExport?.status?.conditions?.find(({ type }) => type === "Conflict");
}

/** The same on every constituent export, the winner's included (R44); all conflicts, not the first (R45). */
function judgeConflict(merged: MergedService): Judgement {
  if (merged.conflicts.length === 0) {
    return {
      type: "Conflict",
      status: "False",
      reason: "NoConflicts",
      message: "All exports of the service agree.",
    };
  }
  return {
    type: "Conflict",
    status: "True",
    reason: merged.conflicts.map((conflict) => conflict.reason).join(","),
    message: merged.conflicts.map((conflict) => conflict.message).join("\n"),
  };
}

const OUR_CONDITIONS: ReadonlySet<string> = new Set(["Valid", "Ready", "Conflict"]);

/** Nothing to write when nothing changed (R8). */
export function planExportStatus(
  serviceExport: ServiceExport,
  judgements: readonly Judgement[],
  now: string,
): Write[] {
  const { metadata, status, apiVersion, kind } = serviceExport;
  const before = (status?.conditions ?? []).filter(({ type }) => OUR_CONDITIONS.has(type));
  const conditions = planConditions({ before, judgements, generation: metadata.generation, now });
  const byType = (list: readonly { readonly type: string }[]): unknown =>
    Object.fromEntries(list.map((condition) => [condition.type, condition]));
  if (isSameData(byType(before), byType(conditions))) return [];
  const { namespace = "", name = "" } = metadata;
  const object: ServiceExport = {
    apiVersion,
    kind,
    metadata: { namespace, name },
    status: { conditions },
  };
  return [{ verb: "apply", resource: SERVICE_EXPORT, object, subresource: "status" }];
}

function findRefusal(input: ExportInput): Refusal | undefined {
  const { service, namespace, name } = input;
  if (input.namespaceDenied) {
    return {
      reason: "NamespaceDenied",
      message: `Services of namespace "${namespace}" are not exported. Move the service to another namespace, or have the administrator allow this one.`,
    };
  }
  if (!isLiving(service)) {
    return {
      reason: "NoService",
      message: `There is no Service "${name}" in namespace "${namespace}". Create it, or delete this export.`,
    };
  }
  if (service.spec?.type === "ExternalName") {
    return {
      reason: "InvalidServiceType",
      message:
        "A Service of type ExternalName has no endpoints to share. Export a ClusterIP, NodePort, LoadBalancer or headless Service.",
    };
  }
  const { length } = service.spec?.ports ?? [];
  if (length > SHARE_LIMITS.ports) {
    return {
      reason: "InvalidExport",
      message: `The Service has ${length} ports; at most ${SHARE_LIMITS.ports} can be exported. Divide it into several Services.`,
    };
  }
  const { exportedLabels: labels, exportedAnnotations: annotations } =
    input.serviceExport?.spec ?? {};
  const problem = findBadMark({ ...(labels && { labels }), ...(annotations && { annotations }) });
  return problem === undefined ? undefined : { reason: "InvalidExport", message: problem };
}

/** An object that is being deleted counts as gone: its finalizers are nobody's reason to send traffic. */
function isLiving<T extends Service | ServiceExport>(object: T | undefined): object is T {
  return object !== undefined && object.metadata.deletionTimestamp === undefined;
}
