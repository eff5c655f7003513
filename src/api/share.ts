// What one cluster tells the others about one exported service: the only thing that crosses clusters.

import type {
  Endpoint,
  EndpointPort,
  IPFamily,
  Protocol,
  ServicePort,
  ServiceSpec,
} from "./builtin.ts";
import type { ClusterId, ServiceKey } from "./names.ts";

/** A service port as others see it: no target port, no node port (R27). */
export interface SharedPort {
  /** "" for the one port that needs no name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string;
}

export type ImportType = "ClusterSetIP" | "Headless";

/** How a Service wants its traffic led; exports, imports and Services say it in the same words. */
export type TrafficPolicy = Pick<
  ServiceSpec,
  "sessionAffinity" | "sessionAffinityConfig" | "internalTrafficPolicy" | "trafficDistribution"
>;

/** What is said of a service wherever it is: one cluster's share of it, the merge of all, one cluster's view of that. */
export interface SharedService extends TrafficPolicy {
  readonly service: ServiceKey;
  readonly type: ImportType;
  readonly ports: readonly SharedPort[];
  readonly ipFamilies: readonly IPFamily[];
}

/** One cluster's share of a service, without its endpoints. */
export interface ServiceShare extends SharedService {
  readonly cluster: ClusterId;
  /** creationTimestamp of the ServiceExport: whole seconds, UTC. Precedence goes by it (R20). */
  readonly exportedAt: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** What becomes of this cluster's endpoints elsewhere once it is lost; absent: withdraw. */
  readonly whenLost?: WhenLost;
}

/** withdraw: they go. unready: they stay, not ready. keep: they stay as they are. */
export const WHEN_LOST = ["withdraw", "unready", "keep"] as const;
export type WhenLost = (typeof WHEN_LOST)[number];

/** One source EndpointSlice of a shared service. */
export interface EndpointShare {
  readonly cluster: ClusterId;
  readonly service: ServiceKey;
  /** Name of the source EndpointSlice. */
  readonly slice: string;
  readonly addressType: IPFamily;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** Everything one cluster shares of one service. */
export interface Contribution {
  readonly share: ServiceShare;
  readonly endpoints: readonly EndpointShare[];
}

/** Only what is said: an absent field stays absent. */
export function pickTrafficPolicy(policy: TrafficPolicy): TrafficPolicy {
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } =
    policy;
  return {
    ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
    ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
    ...(internalTrafficPolicy === undefined ? {} : { internalTrafficPolicy }),
    ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
  };
}

/** Node ports and target ports do not travel (R4, R27). */
export function sharePort(
  port: Pick<ServicePort, "name" | "protocol" | "port" | "appProtocol">,
): SharedPort {
  return {
    name: port.name ?? "",
    protocol: port.protocol ?? "TCP",
    port: port.port,
    ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
  };
}
