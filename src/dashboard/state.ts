// Dashboard: what the page is told, as plain data: the whole state once, then what changed. Server and page share these types
// and nothing else.

import type { Liveness } from "../core/liveness.ts";

/** One cluster in the picture. */
export interface ClusterState {
  readonly id: string;
  readonly liveness: Liveness | "unknown";
  /** A sentence: why it is taken for that, and since when as far as is known. */
  readonly why: string;
  /** A sentence: what to do, where there is something to do. */
  readonly next?: string;
  /** Seconds since its Lease on the hub was seen to change; absent where there is no hub. */
  readonly leaseAgeSeconds?: number;
  readonly version?: string;
  readonly region?: string;
  readonly zones: readonly string[];
  /** These two absent: they could not be read. */
  readonly exports?: number;
  readonly imports?: number;
  /** What could not be read. */
  readonly problems: readonly string[];
}

export interface PortState {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** One cluster's part in a service: what it exports, and what it imports. */
export interface ServicePart {
  readonly cluster: string;
  readonly exported: boolean;
  /** Endpoints that it offers, where it exports and they can be read. */
  readonly offered?: { readonly ready: number; readonly total: number };
  readonly ips: readonly string[];
  /** What its clients are led to, by source cluster. */
  readonly sources: readonly {
    readonly cluster: string;
    readonly ready: number;
    readonly total: number;
  }[];
  /** Seconds since the last change of what it imports. */
  readonly syncAgeSeconds?: number;
}

export interface ServiceState {
  /** "namespace/name" */
  readonly key: string;
  readonly type: "ClusterSetIP" | "Headless";
  readonly ports: readonly PortState[];
  /** well: every importing cluster has somebody to lead to. warn: conflicts, or some not ready. bad: a cluster leads nowhere. */
  readonly verdict: "well" | "warn" | "bad";
  /** One sentence, the most important; empty when all is well. */
  readonly why: string;
  /** Sentences, as the conditions of the exports have them. */
  readonly conflicts: readonly string[];
  readonly parts: readonly ServicePart[];
}

/** On the time line. */
export interface TimelineEvent {
  /** Counts up; the page asks for those after the last it has. */
  readonly id: number;
  /** Wall clock, ISO, to the millisecond. */
  readonly at: string;
  readonly kind:
    | "exported"
    | "unexported"
    | "conflict"
    | "resolved"
    | "lost"
    | "returned"
    | "failover"
    | "drained"
    | "undrained"
    | "joined"
    | "left";
  /** A cluster id or a service key: what to show when it is clicked. */
  readonly subject: string;
  readonly sentence: string;
}

/** From a change of the endpoints in the source cluster, as seen here, to the same in an importing cluster, as seen here. */
export interface LatencySample {
  /** Of its arrival: wall clock, ISO, to the millisecond. */
  readonly at: string;
  readonly service: string;
  readonly source: string;
  readonly importer: string;
  readonly ms: number;
}

export interface DashboardState {
  /** Counts up with every change; a page that missed some asks for the whole state. */
  readonly version: number;
  readonly server: { readonly version: string; readonly startedAt: string; readonly mode: string };
  readonly hub?: { readonly server: string; readonly problem?: string };
  /** False until all clusters have been asked once. */
  readonly synced: boolean;
  readonly clusters: readonly ClusterState[];
  readonly services: readonly ServiceState[];
  /** The last ones, oldest first. */
  readonly events: readonly TimelineEvent[];
  /** The last ones, oldest first. */
  readonly latency: readonly LatencySample[];
}

/** A change: whole objects by id, and what is gone. Ages are of the moment it was made; the page counts on. */
export interface DashboardChange {
  readonly version: number;
  readonly synced: boolean;
  /** Absent: there is none, or none any more. */
  /** Told with every change; absent: there is none, or none any more. */
  readonly hub?: DashboardState["hub"];
  readonly clusters: readonly ClusterState[];
  readonly goneClusters: readonly string[];
  readonly services: readonly ServiceState[];
  readonly goneServices: readonly string[];
  readonly events: readonly TimelineEvent[];
  readonly latency: readonly LatencySample[];
}

/**
 * GET /                     the page
 * GET /page.js, /page.css   its parts
 * GET /api/state            DashboardState
 * GET /api/changes          text/event-stream: event "state" with a DashboardState first, then "change" with a DashboardChange;
 *                           event "beat" with {} every 15 s, except while a longer event is still on its way to a slow page
 * GET /api/explain/<ns>/<name>   Explanation (src/core/clusterset/explanation.ts), as `isthmus explain -o json` prints it
 *
 * With a token demanded: `Authorization: Bearer`, or the cookie that GET /?token=… sets before it leads to / again.
 */
export const ROUTES = {
  page: "/",
  script: "/page.js",
  style: "/page.css",
  state: "/api/state",
  changes: "/api/changes",
  explain: "/api/explain/",
} as const;
