// The built-in Kubernetes objects that Isthmus reads or writes: only the fields it looks at.

import { type Condition, defineResource, type KubeObject } from "./object.ts";

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}
export const NAMESPACE = defineResource<Namespace>({
  apiVersion: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});

export type Protocol = "TCP" | "UDP" | "SCTP";
export type IPFamily = "IPv4" | "IPv6";

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: Protocol;
  readonly appProtocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

export interface SessionAffinityConfig {
  readonly clientIP?: { readonly timeoutSeconds?: number };
}

export interface ServiceSpec {
  readonly type?: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly ServicePort[];
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly ipFamilies?: readonly IPFamily[];
  readonly ipFamilyPolicy?: "SingleStack" | "PreferDualStack" | "RequireDualStack";
  readonly sessionAffinity?: "None" | "ClientIP";
  readonly sessionAffinityConfig?: SessionAffinityConfig;
  readonly internalTrafficPolicy?: "Cluster" | "Local";
  readonly trafficDistribution?: string;
  readonly publishNotReadyAddresses?: boolean;
  readonly externalName?: string;
}
export interface Service extends KubeObject {
  readonly spec?: ServiceSpec;
}
export const SERVICE = defineResource<Service>({
  apiVersion: "v1",
  kind: "Service",
  plural: "services",
  namespaced: true,
});

export interface EndpointConditions {
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
}
export interface EndpointHints {
  readonly forZones?: readonly { readonly name: string }[];
}
export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: EndpointConditions;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: EndpointHints;
  readonly targetRef?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
}
export interface EndpointPort {
  readonly name?: string;
  readonly protocol?: Protocol;
  readonly port?: number;
  readonly appProtocol?: string;
}
export interface EndpointSlice extends KubeObject {
  readonly addressType: "IPv4" | "IPv6" | "FQDN";
  readonly endpoints: readonly Endpoint[];
  readonly ports?: readonly EndpointPort[];
}
export const ENDPOINT_SLICE = defineResource<EndpointSlice>({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
});

export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly hostname?: string;
    readonly subdomain?: string;
    readonly containers: readonly {
      readonly name: string;
      readonly image?: string;
      readonly ports?: readonly {
        readonly name?: string;
        readonly containerPort: number;
        readonly protocol?: Protocol;
      }[];
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}
export const POD = defineResource<Pod>({
  apiVersion: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
});

export interface Node extends KubeObject {
  readonly spec?: { readonly podCIDRs?: readonly string[] };
}
export const NODE = defineResource<Node>({
  apiVersion: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});

/** A range that the API server hands out virtual IPs from; since Kubernetes 1.33. */
export interface ServiceCidr extends KubeObject {
  readonly spec?: { readonly cidrs?: readonly string[] };
}
export const SERVICE_CIDR = defineResource<ServiceCidr>({
  apiVersion: "networking.k8s.io/v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  namespaced: false,
});

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}
export const LEASE = defineResource<Lease>({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
export const CONFIG_MAP = defineResource<ConfigMap>({
  apiVersion: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
});

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}
export const SECRET = defineResource<Secret>({
  apiVersion: "v1",
  kind: "Secret",
  plural: "secrets",
  namespaced: true,
});

export const SERVICE_ACCOUNT = defineResource<KubeObject>({
  apiVersion: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});

export interface Event extends KubeObject {
  readonly involvedObject: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly type?: "Normal" | "Warning";
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly source?: { readonly component?: string };
}
export const EVENT = defineResource<Event>({
  apiVersion: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly singular?: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly schema?: { readonly openAPIV3Schema?: unknown };
      readonly subresources?: { readonly status?: Readonly<Record<string, never>> };
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly type: string;
        readonly jsonPath: string;
        readonly description?: string;
        readonly format?: string;
        readonly priority?: number;
      }[];
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly storedVersions?: readonly string[];
  };
}
export const CUSTOM_RESOURCE_DEFINITION = defineResource<CustomResourceDefinition>({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
