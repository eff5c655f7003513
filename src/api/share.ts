// What one cluster tells the others about one exported service: the only thing that crosses clusters.

import type {
  Endpoint,
  EndpointPort,
  IPFamily,
  Protocol,
  SessionAffinityConfig,
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

/** One cluster's share of a service, without its endpoints. */
export interface ServiceShare {
  readonly cluster: ClusterId;
  readonly service: ServiceKey;
  /** creationTimestamp of the ServiceExport: whole seconds, UTC. Precedence goes by it (R20). */
  readonly exportedAt: string;
  readonly type: ImportType;
  readonly ports: readonly SharedPort[];
  readonly ipFamilies: readonly IPFamily[];
  readonly sessionAffinity?: "None" | "ClientIP";
  readonly sessionAffinityConfig?: SessionAffinityConfig;
  readonly internalTrafficPolicy?: "Cluster" | "Local";
  readonly trafficDistribution?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

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
