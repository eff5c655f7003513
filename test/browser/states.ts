// Test builders: states of a dashboard: a shop in a few clusters with something of everything, and as many clusters and services
// as are asked for.

import type {
  ClusterState,
  DashboardState,
  LatencySample,
  ServicePart,
  ServiceState,
  TimelineEvent,
} from "../../src/dashboard/state.ts";

const STARTED = "2026-01-02T09:00:00.000Z";

export function aCluster(id: string, rest: Partial<ClusterState> = {}): ClusterState {
  return {
    id,
    liveness: "live",
    why: "Its Lease on the hub is renewed.",
    leaseAgeSeconds: 3,
    version: "v0.1.0",
    region: "eu",
    zones: ["eu-1", "eu-2"],
    exports: 4,
    imports: 7,
    problems: [],
    ...rest,
  };
}

export function aService(key: string, rest: Partial<ServiceState> = {}): ServiceState {
  return {
    key,
    type: "ClusterSetIP",
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    verdict: "well",
    why: "",
    conflicts: [],
    parts: [],
    ...rest,
  };
}

/** Parts of a service that `offers` export, and every cluster imports. */
export function partsOf(
  clusters: readonly string[],
  offers: Readonly<Record<string, readonly [ready: number, total: number]>>,
  ip: (index: number) => string = (index) => `10.10${index}.7.21`,
): readonly ServicePart[] {
  const sources = Object.entries(offers).map(([cluster, [ready, total]]) => ({
    cluster,
    ready,
    total,
  }));
  return clusters.map((cluster, index) => {
    const offer = offers[cluster];
    return {
      cluster,
      exported: offer !== undefined,
      ...(offer === undefined ? {} : { offered: { ready: offer[0], total: offer[1] } }),
      ips: [ip(index)],
      sources,
      syncAgeSeconds: 40 + 31 * index,
    };
  });
}

const CLUSTERS = ["apollo", "borneo", "cairo", "delphi", "elba"] as const;

export const PORT_CONFLICT =
  "Port http: apollo has 80, borneo has 8080. The oldest export wins: apollo's.";

/** Five clusters and a hub; one is lost, one drained; services that are well, in conflict, and without an endpoint. */
export function aShop(): DashboardState {
  const parts = (offers: Parameters<typeof partsOf>[1], third: number): readonly ServicePart[] =>
    partsOf(CLUSTERS, offers, (index) => `10.${101 + index}.${third}.21`);
  return {
    version: 1,
    server: { version: "v0.1.0", startedAt: STARTED, mode: "hub" },
    hub: { server: "https://hub.example:6443" },
    synced: true,
    clusters: [
      aCluster("apollo"),
      aCluster("borneo"),
      aCluster("cairo", { exports: 1 }),
      aCluster("delphi", {
        liveness: "lost",
        why: "Its Lease has not been renewed for 42 s.",
        next: "Is its agent running, and does it reach the hub?",
        leaseAgeSeconds: 42,
        exports: 1,
      }),
      aCluster("elba", { liveness: "unknown", why: "It cannot be asked.", exports: 0 }),
    ],
    services: [
      aService("shop/cart", { parts: parts({ apollo: [3, 3], borneo: [3, 3] }, 4) }),
      aService("shop/catalog", {
        ports: [
          { name: "http", protocol: "TCP", port: 80 },
          { name: "grpc", protocol: "TCP", port: 9090 },
        ],
        parts: parts({ apollo: [2, 2], borneo: [4, 4], cairo: [1, 1] }, 9),
      }),
      aService("shop/checkout", {
        verdict: "warn",
        why: PORT_CONFLICT,
        conflicts: [PORT_CONFLICT],
        parts: parts({ apollo: [2, 2], borneo: [2, 2] }, 13),
      }),
      aService("shop/ledger", {
        verdict: "bad",
        why: "Clients in apollo, borneo, cairo and elba are led to nobody: delphi is lost, and no other cluster exports it.",
        parts: parts({ delphi: [0, 3] }, 17),
      }),
      aService("data/postgres", {
        type: "Headless",
        ports: [{ name: "sql", protocol: "TCP", port: 5432 }],
        verdict: "warn",
        why: "1 of 3 endpoints of apollo is not ready.",
        parts: parts({ apollo: [2, 3] }, 0).map((part) => ({ ...part, ips: [] })),
      }),
      aService("infra/resolver", {
        ports: [{ name: "dns", protocol: "UDP", port: 53 }],
        parts: parts({ apollo: [2, 2], borneo: [2, 2] }, 30),
      }),
    ],
    events: [
      anEvent(1, "joined", "elba", "elba joined."),
      anEvent(2, "exported", "shop/cart", "borneo exports shop/cart, too."),
      anEvent(3, "conflict", "shop/checkout", PORT_CONFLICT),
      anEvent(4, "lost", "delphi", "delphi is lost: its Lease has not been renewed for 30 s."),
      anEvent(
        5,
        "failover",
        "shop/catalog",
        "Clients in cairo left delphi; apollo and borneo answer.",
      ),
    ],
    latency: someLatency(80),
  };
}

/** Three clusters, one of which asks the others to go elsewhere: nothing of it is ready for them any more. */
export function aDrainedShop(): DashboardState {
  const clusters = ["east", "edge", "west"];
  const service = (name: string, ready: number): ServiceState =>
    aService(`shop/${name}`, {
      parts: partsOf(clusters, { east: [ready, ready], west: [0, 2] }).map((part) =>
        part.cluster === "west" ? { ...part, offered: { ready: 2, total: 2 } } : part,
      ),
    });
  return {
    ...EMPTY,
    hub: { server: "https://hub.example:6443" },
    clusters: [
      aCluster("east"),
      aCluster("edge", { exports: 0 }),
      aCluster("west", {
        liveness: "drained",
        why: "It asks the others to go elsewhere: new nodes.",
        next: '"isthmus undrain west" ends it.',
      }),
    ],
    services: [service("cart", 3), service("checkout", 2)],
    events: [
      anEvent(1, "exported", "shop/cart", "east exports shop/cart."),
      anEvent(2, "drained", "west", "west is drained. It asks the others to go elsewhere."),
    ],
    latency: someLatency(40),
  };
}

export function anEvent(
  id: number,
  kind: TimelineEvent["kind"],
  subject: string,
  sentence: string,
): TimelineEvent {
  return {
    id,
    at: new Date(Date.parse(STARTED) + id * 61_000).toISOString(),
    kind,
    subject,
    sentence,
  };
}

export function someLatency(samples: number): readonly LatencySample[] {
  return Array.from({ length: samples }, (_, index) => ({
    at: new Date(Date.parse(STARTED) + index * 4_000).toISOString(),
    service: "shop/cart",
    source: index % 2 === 0 ? "apollo" : "borneo",
    importer: "cairo",
    ms: 35 + ((index * 37) % 90) + (index % 17 === 0 ? 640 : 0),
  }));
}

export const EMPTY: DashboardState = {
  version: 1,
  server: { version: "v0.1.0", startedAt: STARTED, mode: "central" },
  synced: true,
  clusters: [],
  services: [],
  events: [],
  latency: [],
};

export function nameLarge(index: number): string {
  return `cluster-${String(index).padStart(2, "0")}`;
}

/** Every service is exported by two clusters and imported by all; every hundredth has a conflict. */
export function aLargeSet(clusters: number, services: number): DashboardState {
  const ids = Array.from({ length: clusters }, (_, index) => nameLarge(index));
  return {
    ...EMPTY,
    hub: { server: "https://hub.example:6443" },
    clusters: ids.map((id) => aCluster(id)),
    services: Array.from({ length: services }, (_, index) => {
      const [first, second] = [ids[index % clusters] ?? "", ids[(index * 7 + 1) % clusters] ?? ""];
      const parts = partsOf(
        ids,
        { [first]: [2, 2], [second]: [3, 3] },
        (at) => `10.${at}.${index >> 8}.${index & 255}`,
      );
      const key = `team-${index % 20}/service-${String(index).padStart(4, "0")}`;
      if (index % 100 !== 0) return aService(key, { parts });
      return aService(key, {
        parts,
        verdict: "warn",
        why: PORT_CONFLICT,
        conflicts: [PORT_CONFLICT],
      });
    }),
    latency: someLatency(300),
  };
}
