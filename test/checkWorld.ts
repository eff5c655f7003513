// Test tool: two clusters that joined a hub and are well, as the checks see them, with a place to put each trouble.

import { CRDS } from "../src/api/crds.ts";
import type { Lease, Service } from "../src/api/builtin.ts";
import type { ClusterMember } from "../src/api/isthmus.ts";
import { type ClusterId, memberNamespace } from "../src/api/names.ts";
import { VERSION } from "../src/api/version.ts";
import { type CheckReport, runChecks } from "../src/core/check/checkup.ts";
import { answered, type Inspection } from "../src/core/check/inspection.ts";
import type { CheckCode, CheckResult } from "../src/core/check/result.ts";
import {
  type HubSighting,
  NOTHING_SEEN,
  type Observation,
  type Sighting,
} from "../src/core/clusterset/sighting.ts";

export const NOW = "2026-01-02T03:04:05Z";
export const NOW_MS = Date.parse(NOW);
export const HUB = "https://hub.example.org";

export function aLease(name: string, renewTime: string | undefined, holder = `${name}-0`): Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name },
    spec: { holderIdentity: holder, ...(renewTime === undefined ? {} : { renewTime }) },
  };
}

export function aMember(
  id: string,
  podCIDRs: readonly string[],
  agentVersion = VERSION,
): ClusterMember {
  const condition = { reason: "Synced", message: "", lastTransitionTime: NOW };
  return {
    apiVersion: "isthmus.dev/v1alpha1",
    kind: "ClusterMember",
    metadata: { name: id, namespace: memberNamespace(id as ClusterId) },
    spec: { podCIDRs, serviceCIDRs: ["10.96.0.0/16"] },
    status: { agentVersion, conditions: [{ type: "Synced", status: "True", ...condition }] },
  };
}

export function aSighting(id: string, fields: Partial<Sighting> = {}): Sighting {
  const cluster = id as ClusterId;
  return { name: id, cluster, problems: [], unread: [], hub: HUB, ...NOTHING_SEEN, ...fields };
}

export function anInspection(id: string, fields: Partial<Inspection> = {}): Inspection {
  return {
    name: id,
    uid: answered(`uid-of-${id}`),
    identity: answered({ ok: true, value: id as ClusterId }),
    version: answered("v1.36.3"),
    aheadMs: answered(300),
    crds: {
      found: answered(new Map(CRDS.map((crd) => [crd.metadata.name!, crd]))),
      served: [],
      unknown: [],
    },
    access: { reader: answered([]), central: answered([]), agent: answered([]) },
    agentLease: answered({
      lease: aLease("isthmus-agent", NOW, `${id}-agent-1`),
      isRenewed: false,
      watchedMs: 0,
    }),
    ranges: {
      podCIDRs: answered([]),
      serviceCIDRs: answered([]),
      pods: answered([]),
    },
    dns: {
      zone: "clusterset.local",
      corefile: answered({
        configMap: "kube-system/coredns",
        servesZone: true,
        readsImports: true,
        importedFiles: [],
      }),
      nodeLocal: answered(undefined),
      deployed: answered({ image: "coredns:1.12.2", hasMulticluster: true }),
      access: answered([]),
      service: answered({ ip: "10.96.0.10", ready: 2 }),
    },
    proxy: {
      daemons: answered([
        { name: "kube-proxy", image: "kube-proxy:v1.36.3", desired: 3, ready: 3 },
      ]),
      mode: answered("nftables"),
    },
    ...fields,
  };
}

export function aHub(fields: Partial<HubSighting> = {}): HubSighting {
  return {
    server: HUB,
    reader: "east" as ClusterId,
    members: [aMember("east", ["10.1.0.0/16"]), aMember("west", ["10.2.0.0/16"])],
    leases: [aLease("east", NOW), aLease("west", NOW)],
    hasShares: true,
    serviceShares: [],
    endpointShares: [],
    ...fields,
  };
}

export interface Trouble {
  /** Of east. */
  readonly inspection?: Partial<Inspection> | "absent";
  readonly sighting?: Partial<Sighting>;
  /** "none": central mode. */
  readonly hub?: Partial<HubSighting> | "none";
}

/** East and west, well but for the trouble. */
export function check(trouble: Trouble = {}): CheckReport {
  const { inspection = {}, sighting = {}, hub = {} } = trouble;
  const observation: Observation = {
    sightings: [aSighting("east", sighting), aSighting("west")].map((each) => {
      if (hub !== "none") return each;
      const { hub: _, ...alone } = each;
      return alone;
    }),
    ...(hub === "none" ? {} : { hub: aHub(hub) }),
    nowMs: NOW_MS,
  };
  const east = inspection === "absent" ? undefined : anInspection("east", inspection);
  return runChecks({ observation, inspections: [east, anInspection("west")] });
}

/** All that is not well, but for what is named. */
export function troubles(report: CheckReport): readonly string[] {
  return report.checks
    .filter(({ state }) => state !== "pass")
    .map(
      ({ code, cluster, state }) => `${state} ${code}${cluster === undefined ? "" : ` ${cluster}`}`,
    );
}

export function resultOf(report: CheckReport, code: CheckCode, cluster?: string): CheckResult {
  const found = report.checks.filter(
    (result) => result.code === code && (cluster === undefined || result.cluster === cluster),
  );
  if (found.length === 0) throw new Error(`no result of ${code}`);
  return found[0]!;
}

export function aDerivedService(labels: Record<string, string> = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: "shop",
      name: "derived-abc",
      labels: { "isthmus.dev/managed": "true", ...labels },
    },
  };
}
