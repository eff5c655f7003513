// Check: what was read of a cluster beyond its services, as plain data: all that the checks start from. What could not be read
// is a sentence in the place of the answer, because unread is neither good nor bad.

import type { CustomResourceDefinition, Lease, Pod } from "../../api/builtin.ts";
import type { ClusterId, Parsed } from "../../api/names.ts";
import type { Observation } from "../clusterset/sighting.ts";

export type Answer<T> = { readonly isRead: true; readonly value: T } | Unread;

export interface Unread {
  readonly isRead: false;
  /** A sentence for people, with what to do where that is known. */
  readonly why: string;
}

export function answered<T>(value: T): Answer<T> {
  return { isRead: true, value };
}

export function unread(why: string): Unread {
  return { isRead: false, why };
}

export interface Inspection {
  /** What whoever asked calls it: a context or a kubeconfig. */
  readonly name: string;
  /** Of the namespace kube-system: one cluster has one, whatever it is called. */
  readonly uid: Answer<string | undefined>;
  /** Value undefined: neither the cluster nor anybody else says who it is. */
  readonly identity: Answer<Parsed<ClusterId> | undefined>;
  /** gitVersion of its API server: "v1.36.3". */
  readonly version: Answer<string>;
  /** Its clock minus ours, in milliseconds; the server tells whole seconds. */
  readonly aheadMs: Answer<number>;
  readonly crds: CrdFacts;
  readonly access: AccessFacts;
  /** By which one of the agent's replicas is elected; value undefined: there is none. */
  readonly agentLease: Answer<LeaseFacts | undefined>;
  readonly ranges: RangeFacts;
  readonly dns: DnsFacts;
  readonly proxy: ProxyFacts;
}

export interface CrdFacts {
  /** Those of ours that are there, by name. */
  readonly found: Answer<ReadonlyMap<string, CustomResourceDefinition>>;
  /** Where they may not be read: the kinds that the server answers for, and those that it does not know. */
  readonly served: readonly string[];
  readonly unknown: readonly string[];
}

/** "list endpointslices.discovery.k8s.io": what may not be done, of what was asked about. */
export interface AccessFacts {
  /** The caller, looking. */
  readonly reader: Answer<readonly string[]>;
  /** The caller, if central were given the same identity. */
  readonly central: Answer<readonly string[]>;
  /** The ServiceAccount of the agent; absent: the cluster has not joined a hub. */
  readonly agent?: Answer<readonly string[]>;
}

export interface LeaseFacts {
  readonly lease: Lease;
  /** It changed while we watched. */
  readonly isRenewed: boolean;
  readonly watchedMs: number;
}

export interface RangeFacts {
  /** Of the nodes, and what an installer wrote down. */
  readonly podCIDRs: Answer<readonly string[]>;
  readonly serviceCIDRs: Answer<readonly string[]>;
  /** Some of them. */
  readonly pods: Answer<readonly Pod[]>;
}

export interface CorefileFacts {
  /** "kube-system/coredns". */
  readonly configMap: string;
  readonly servesZone: boolean;
  /** By itself, from ServiceImports; false: it forwards the zone, or does not know it. */
  readonly readsImports: boolean;
  /** Files that it imports, which nobody can read from here. */
  readonly importedFiles: readonly string[];
  /** Why it could not be understood. */
  readonly problem?: string;
}

export interface DnsFacts {
  readonly zone: string;
  /** Value undefined: no Corefile where one usually is. */
  readonly corefile: Answer<CorefileFacts | undefined>;
  /** Of NodeLocal DNSCache, which pods ask instead of CoreDNS where it runs; value undefined: it does not. */
  readonly nodeLocal: Answer<CorefileFacts | undefined>;
  /** Value undefined: no such Deployment. */
  readonly deployed: Answer<
    { readonly image: string; readonly hasMulticluster: boolean | undefined } | undefined
  >;
  /** What CoreDNS's own account may not do. */
  readonly access: Answer<readonly string[]>;
  /** Value undefined: no Service of that name. */
  readonly service: Answer<{ readonly ip: string; readonly ready: number } | undefined>;
}

export interface DaemonFacts {
  readonly name: string;
  readonly image: string;
  readonly desired: number;
  readonly ready: number;
}

export interface ProxyFacts {
  /** Of kube-proxy, and of those that may stand in for it. */
  readonly daemons: Answer<readonly DaemonFacts[]>;
  /** As kube-proxy's ConfigMap has it; "" is the platform's default. */
  readonly mode: Answer<string | undefined>;
}

export interface Checkup {
  readonly observation: Observation;
  /** One for each sighting, in the same order; undefined where the cluster did not answer. */
  readonly inspections: readonly (Inspection | undefined)[];
}
