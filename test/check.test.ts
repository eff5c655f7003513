// What check says of each trouble: the code that turns, how bad it is, and that nothing else turns with it.

import { expect, test } from "vitest";
import { CLUSTER_PROPERTY_CRD } from "../src/api/about.ts";
import { CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import { answered, unread } from "../src/core/check/inspection.ts";
import { CHECKS, type CheckCode } from "../src/core/check/result.ts";
import { NOTHING_SEEN, SIGHTED_KINDS } from "../src/core/clusterset/sighting.ts";
import {
  aDerivedService,
  aLease,
  aMember,
  anInspection,
  check,
  NOW,
  type Trouble,
  troubles,
} from "./checkWorld.ts";

const HIDDEN = unread("You may not look.");
const OLD = "2026-01-02T02:04:05Z";

/** As if an older release had installed it. */
function withoutSchema(crd: (typeof CRDS)[number]): (typeof CRDS)[number] {
  const versions = crd.spec.versions.map(({ name, served, storage }) => ({
    name,
    served,
    storage,
  }));
  return { ...crd, metadata: { name: crd.metadata.name! }, spec: { ...crd.spec, versions } };
}

function aPod(podIP: string, phase: string) {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, status: { podIP, phase } };
}

function mapOf(crds: typeof CRDS) {
  return answered(new Map(crds.map((crd) => [crd.metadata.name!, crd])));
}

test("two clusters that are well pass every check", () => {
  const report = check();
  expect(troubles(report)).toEqual([]);
  expect(report).toMatchObject({ well: true, counts: { warn: 0, fail: 0 } });
  const codes = new Set(report.checks.map(({ code }) => code));
  // What is asked in central mode only.
  expect(Object.keys(CHECKS).filter((code) => !codes.has(code as CheckCode))).toEqual([
    "rbac/central",
  ]);
});

const DNS = anInspection("east").dns;
const PROXY = anInspection("east").proxy;
const RANGES = anInspection("east").ranges;
const ACCESS = anInspection("east").access;
const COREFILE = {
  configMap: "kube-system/coredns",
  servesZone: true,
  readsImports: true,
  importedFiles: [],
};

const CASES: Readonly<Record<string, readonly [Trouble, readonly string[], string]>> = {
  "definitions that are missing fail, with how to install them": [
    { inspection: { crds: { found: mapOf([]), served: [], unknown: [] } } },
    ["fail crds/installed east"],
    "ServiceExport, ServiceImport and ClusterProperty are missing.",
  ],
  "a definition that is not served fails": [
    {
      inspection: {
        crds: {
          found: mapOf([
            ...MEMBER_CRDS.slice(0, 2),
            {
              ...CLUSTER_PROPERTY_CRD,
              status: {
                conditions: [
                  {
                    type: "Established",
                    status: "False",
                    reason: "Installing",
                    message: "",
                    lastTransitionTime: NOW,
                  },
                ],
              },
            },
          ]),
          served: [],
          unknown: [],
        },
      },
    },
    ["fail crds/installed east"],
    "ClusterProperty is there, but not served.",
  ],
  "an older definition is a warning": [
    {
      inspection: {
        crds: {
          found: mapOf(CRDS.map(withoutSchema)),
          served: [],
          unknown: [],
        },
      },
    },
    ["warn crds/current east"],
    "older than what this isthmus",
  ],
  "a definition that is being deleted fails": [
    {
      inspection: {
        crds: {
          found: mapOf(
            CRDS.map((crd) => ({ ...crd, metadata: { ...crd.metadata, deletionTimestamp: NOW } })),
          ),
          served: [],
          unknown: [],
        },
      },
    },
    ["fail crds/current east"],
    "being deleted, with all objects of that kind",
  ],
  "who may not read definitions is told by what is served": [
    {
      inspection: {
        crds: { found: HIDDEN, served: [], unknown: ["ServiceExport", "ServiceImport"] },
      },
    },
    ["fail crds/installed east"],
    "The API server does not know ServiceExports and ServiceImports.",
  ],
  "what the reader may not do is a warning": [
    { inspection: { access: { ...ACCESS, reader: answered(["list namespaces"]) } } },
    ["warn rbac/reader east"],
    "You may not list namespaces",
  ],
  "what the agent may not do fails, shortened": [
    { inspection: { access: { ...ACCESS, agent: answered(["a", "b", "c", "d", "e"]) } } },
    ["fail rbac/agent east"],
    "may not a, b, c and 2 more things.",
  ],
  "permissions that nobody tells are a warning": [
    { inspection: { access: { ...ACCESS, agent: HIDDEN } } },
    ["warn rbac/agent east"],
    "It cannot be told: You may not look.",
  ],
  "a cluster without an id fails": [
    { inspection: { identity: answered(undefined) }, sighting: { cluster: undefined } },
    ["fail identity/known east"],
    "It does not say who it is: it has no id.",
  ],
  "a cluster that is known by what others call it is a warning": [
    { inspection: { identity: answered(undefined) } },
    ["warn identity/known east"],
    "it is taken for east",
  ],
  "an id that contradicts itself fails in its own words": [
    { inspection: { identity: answered({ ok: false, problem: "Two ids." }) } },
    ["fail identity/known east"],
    "Two ids.",
  ],
  "the same cluster named twice fails": [
    { inspection: { uid: answered("uid-of-west") } },
    ["fail identity/unique"],
    "east and west are one and the same cluster.",
  ],
  "a member that the hub does not know fails": [
    { hub: { members: [aMember("west", ["10.2.0.0/16"])], leases: [aLease("west", NOW)] } },
    ["fail identity/member east", "warn cidrs/overlap"],
    "It has joined a hub that does not know it",
  ],
  "a Lease that was not renewed while it was watched fails": [
    {
      hub: {
        leases: [aLease("east", OLD), aLease("west", NOW)],
        before: { leases: [aLease("east", OLD), aLease("west", NOW)], elapsedMs: 13_000 },
      },
    },
    // That of west did not change either, as nobody watched for it.
    ["fail leases/member east", "fail leases/member west"],
    "Its lease was not renewed in the 13 s that this command watched",
  ],
  "a cluster whose agent never ran fails": [
    { inspection: { agentLease: answered(undefined) } },
    ["fail leases/agent east"],
    "no agent ever ran",
  ],
  "an agent that stopped and was not replaced fails": [
    {
      inspection: {
        agentLease: answered({ lease: aLease("x", NOW, ""), isRenewed: false, watchedMs: 0 }),
      },
    },
    ["fail leases/agent east"],
    "Its agent has stopped",
  ],
  "an agent that does not renew its lead fails": [
    {
      inspection: {
        agentLease: answered({ lease: aLease("x", OLD), isRenewed: false, watchedMs: 13_000 }),
      },
    },
    ["fail leases/agent east"],
    "did not renew its Lease in the 13 s that this command watched; the last time was 60m ago by its own clock.",
  ],
  "an agent with a wrong clock that renews passes": [
    {
      inspection: {
        agentLease: answered({ lease: aLease("x", OLD), isRenewed: true, watchedMs: 3_000 }),
      },
    },
    [],
    "",
  ],
  "a clock that is off by more than five seconds is a warning": [
    { inspection: { aheadMs: answered(-61_000) } },
    ["warn clock/skew east"],
    "Its clock is 61 s behind the one here.",
  ],
  "pod ranges that overlap fail": [
    {
      hub: { members: [aMember("east", ["10.2.128.0/20"]), aMember("west", ["10.2.0.0/16"])] },
    },
    ["fail cidrs/overlap"],
    "east: The pod range 10.2.128.0/20 overlaps the pod range 10.2.0.0/16 of west.",
  ],
  "a pod range inside the service range of another fails, whoever comes first": [
    {
      hub: { members: [aMember("east", ["10.1.0.0/16"]), aMember("west", ["10.96.1.0/24"])] },
    },
    ["fail cidrs/overlap"],
    "west: The pod range 10.96.1.0/24 overlaps the service range 10.96.0.0/16 of east",
  ],
  "pods outside of what was declared fail": [
    {
      inspection: {
        ranges: {
          ...RANGES,
          pods: answered([aPod("10.9.0.1", "Running"), aPod("10.8.0.1", "Succeeded")]),
        },
      },
    },
    ["fail cidrs/declared east"],
    "1 of 1 pod looked at have addresses outside of 10.1.0.0/16, such as 10.9.0.1",
  ],
  "a Corefile without the zone fails": [
    {
      inspection: {
        dns: {
          ...DNS,
          corefile: answered({ ...COREFILE, servesZone: false, readsImports: false }),
        },
      },
    },
    ["fail dns/zone east"],
    "Names of clusterset.local do not resolve",
  ],
  "a cluster without a Corefile is a warning": [
    { inspection: { dns: { ...DNS, corefile: answered(undefined) } } },
    ["warn dns/zone east"],
    "there is no ConfigMap kube-system/coredns",
  ],
  "a CoreDNS that is too old fails": [
    {
      inspection: {
        dns: { ...DNS, deployed: answered({ image: "coredns:1.11.1", hasMulticluster: false }) },
      },
    },
    ["fail dns/coredns east"],
    "CoreDNS (coredns:1.11.1) is too old",
  ],
  "a CoreDNS that may not list imports fails (R71)": [
    { inspection: { dns: { ...DNS, access: answered(["list serviceimports"]) } } },
    ["fail dns/coredns east"],
    "CoreDNS may not list serviceimports: it answers SERVFAIL",
  ],
  "a DNS Service with nobody behind it fails": [
    { inspection: { dns: { ...DNS, service: answered({ ip: "10.96.0.10", ready: 0 }) } } },
    ["fail dns/service east"],
    "has no ready endpoint",
  ],
  "a kube-proxy that is not everywhere fails": [
    {
      inspection: {
        proxy: {
          ...PROXY,
          daemons: answered([
            { name: "kube-proxy", image: "kube-proxy:v1.36.3", desired: 3, ready: 2 },
          ]),
        },
      },
    },
    ["fail proxy/running east"],
    "kube-proxy is ready on 2 of 3 nodes",
  ],
  "a kube-proxy that knows no EndpointSlices fails": [
    {
      inspection: {
        proxy: {
          ...PROXY,
          daemons: answered([
            { name: "kube-proxy", image: "kube-proxy:v1.18.0", desired: 3, ready: 3 },
          ]),
        },
      },
    },
    ["fail proxy/running east"],
    "too old to serve EndpointSlices",
  ],
  "what may replace kube-proxy is a warning": [
    {
      inspection: {
        proxy: {
          ...PROXY,
          daemons: answered([{ name: "cilium", image: "cilium:v1.18.0", desired: 3, ready: 3 }]),
        },
      },
    },
    ["warn proxy/running east"],
    "There is no kube-proxy; cilium may stand in for it",
  ],
  "a derived Service that kube-proxy passes over fails": [
    {
      sighting: {
        serviceImports: [
          {
            apiVersion: "multicluster.x-k8s.io/v1beta1",
            kind: "ServiceImport",
            metadata: {
              namespace: "shop",
              name: "web",
              annotations: { "multicluster.kubernetes.io/derived-service": "derived-abc" },
            },
          },
        ],
        services: [aDerivedService({ "service.kubernetes.io/service-proxy-name": "mesh" })],
      },
    },
    ["fail proxy/services east"],
    "shop/derived-abc carries the label service.kubernetes.io/service-proxy-name",
  ],
  "a derived Service of no import is a warning": [
    { sighting: { services: [aDerivedService()] } },
    ["warn orphans/services east"],
    "shop/derived-abc belongs to no import.",
  ],
  "an import that nobody exports is a warning": [
    {
      sighting: {
        serviceImports: [
          {
            apiVersion: "multicluster.x-k8s.io/v1beta1",
            kind: "ServiceImport",
            metadata: {
              namespace: "shop",
              name: "web",
              labels: { "isthmus.dev/managed": "true" },
            },
          },
        ],
      },
    },
    ["warn orphans/imports east"],
    "Nobody exports shop/web any more",
  ],
  "a slice of no import is a warning": [
    { sighting: { slices: [aSlice("west")] } },
    ["warn orphans/slices east"],
    "shop/web-1 belongs to no import.",
  ],
  "a slice of a cluster that left is a warning": [
    { sighting: { slices: [aSlice("gone")] } },
    ["warn orphans/slices east"],
    "shop/web-1 holds endpoints of gone, which is no member of the hub.",
  ],
  "a Lease of a cluster that left is a warning": [
    { hub: { leases: [aLease("east", NOW), aLease("west", NOW), aLease("gone", NOW)] } },
    ["warn orphans/hub"],
    "The hub holds shares or a Lease of gone, which is no member any more.",
  ],
  "an API server that is too old for a hub fails": [
    { inspection: { version: answered("v1.29.4-gke.100") } },
    ["fail versions/kubernetes east"],
    "a hub needs 1.30 or newer",
  ],
  "an API server of nobody's is a warning": [
    { inspection: { version: answered("banana") } },
    ["warn versions/kubernetes east"],
    '"banana"',
  ],
  "agents two minor versions apart are a warning": [
    {
      hub: {
        members: [aMember("east", ["10.1.0.0/16"], "0.3.0"), aMember("west", ["10.2.0.0/16"])],
      },
    },
    ["warn versions/agents"],
    "east 0.3.0",
  ],
  "a hub that does not answer fails, and what depends on it is not told": [
    { hub: { problem: "The hub could not be asked.", members: [], leases: [], hasShares: false } },
    ["fail api/hub", "warn cidrs/overlap"],
    "The hub could not be asked.",
  ],
  "a cluster that does not answer fails once, not at every check": [
    {
      inspection: "absent",
      sighting: { ...NOTHING_SEEN, unread: SIGHTED_KINDS, problems: ["Nothing answers."] },
    },
    ["fail api/answers east"],
    "Nothing answers.",
  ],
};

function aSlice(source: string) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "shop",
      name: "web-1",
      labels: {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.isthmus.dev",
        "multicluster.kubernetes.io/service-name": "web",
        "multicluster.kubernetes.io/source-cluster": source,
      },
    },
    addressType: "IPv4" as const,
    endpoints: [],
  };
}

test.each(Object.entries(CASES))("%s", (_, [trouble, expected, sentence]) => {
  const report = check(trouble);
  expect(troubles(report)).toEqual(expected);
  const sentences = report.checks
    .filter(({ state }) => state !== "pass")
    .map(({ found }) => found)
    .join("\n");
  expect(sentences).toContain(sentence);
  const silent = report.checks.filter(({ state, next }) => state === "fail" && next === undefined);
  expect(silent).toEqual([]);
});
