// What check must not claim: a failure where a server only refuses, or the zone may be in a file; a pass where little was looked at.

import { expect, test } from "vitest";
import type { CustomResourceDefinition } from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { runChecks } from "../src/core/check/checkup.ts";
import { answered, unread } from "../src/core/check/inspection.ts";
import { SIGHTED_KINDS } from "../src/core/clusterset/sighting.ts";
import { aSighting, anInspection, check, NOW_MS, resultOf, troubles } from "./checkWorld.ts";

const { dns: DNS, proxy: PROXY, ranges: RANGES } = anInspection("east");

test("a server that answers and refuses everything is there: each thing that is hidden is a warning", () => {
  const problems = ["You may not list services of all namespaces. Ask for the ClusterRole view."];
  const report = check({ sighting: { unread: SIGHTED_KINDS, problems } });
  expect(resultOf(report, "api/answers", "east").state).toBe("pass");
  expect(report.counts.fail).toBe(0);
  expect(troubles(report)).toContain("warn orphans/imports east");
});

const FILES = ["/etc/coredns/custom/*.server"];
const NODE_LOCAL = {
  configMap: "kube-system/node-local-dns",
  servesZone: false,
  readsImports: false,
  importedFiles: [],
};

test("a zone that may be in a file that the Corefile imports is not missing", () => {
  const corefile = answered({
    configMap: "kube-system/coredns",
    servesZone: false,
    readsImports: false,
    importedFiles: FILES,
  });
  const report = check({ inspection: { dns: { ...DNS, corefile } } });
  expect(troubles(report)).toEqual(["warn dns/zone east"]);
  const { found, next } = resultOf(report, "dns/zone", "east");
  expect(found).toContain(
    "it imports /etc/coredns/custom/*.server, which cannot be read from here",
  );
  expect(next).toContain("coredns-custom");
});

test.each([
  ["does not know the zone", NODE_LOCAL, "fail", "--config-map node-local-dns --server"],
  ["knows it", { ...NODE_LOCAL, servesZone: true }, "pass", ""],
  ["may know it from a file", { ...NODE_LOCAL, importedFiles: FILES }, "warn", "coredns-custom"],
  ["is not understood", { ...NODE_LOCAL, problem: "It ends inside a block." }, "warn", "nslookup"],
] as const)("NodeLocal DNSCache that %s", (_, nodeLocal, state, advice) => {
  const report = check({ inspection: { dns: { ...DNS, nodeLocal: answered(nodeLocal) } } });
  const { next = "", ...result } = resultOf(report, "dns/zone", "east");
  expect(result).toMatchObject({ state });
  expect(next).toContain(advice);
});

test("NodeLocal DNSCache that nobody may see is a warning", () => {
  const report = check({ inspection: { dns: { ...DNS, nodeLocal: unread("You may not look.") } } });
  expect(troubles(report)).toEqual(["warn dns/zone east"]);
});

type Version = CustomResourceDefinition["spec"]["versions"][number];

test.each([
  ["has only an older version", ({ name }: Version) => name !== "v1beta1"],
  ["does not serve the version that we speak", () => true],
])("a definition that %s fails", (_, isKept) => {
  const change = (crd: CustomResourceDefinition): CustomResourceDefinition => {
    if (crd.spec.names.kind !== "ServiceImport") return crd;
    const versions = crd.spec.versions
      .filter(isKept)
      .map((version) => ({ ...version, served: version.name !== "v1beta1" }));
    return { ...crd, spec: { ...crd.spec, versions } };
  };
  const found = answered(new Map(CRDS.map((crd) => [crd.metadata.name!, change(crd)])));
  const report = check({ inspection: { crds: { found, served: [], unknown: [] } } });
  expect(resultOf(report, "crds/installed", "east")).toMatchObject({
    state: "fail",
    found: "ServiceImport is there, but not served as v1beta1, which isthmus speaks.",
  });
});

test("a cluster whose Secret of the hub cannot be understood fails, and does not pass for one without a hub", () => {
  const report = check({ sighting: { hubProblem: "The Secret names no cluster." } });
  expect(troubles(report)).toEqual(["fail api/hub east"]);
});

test("a member of another hub than the one that was asked is told so", () => {
  const report = check({ sighting: { hub: "https://other.example.org" } });
  expect(troubles(report)).toEqual(["warn api/hub east"]);
  const other = report.checks.find(({ code, state }) => code === "api/hub" && state === "warn");
  expect(other?.found).toContain("https://other.example.org, which was not asked");
});

test("a kube-proxy that is wanted nowhere is not ready everywhere", () => {
  const daemons = answered([
    { name: "kube-proxy", image: "kube-proxy:v1.36.3", desired: 0, ready: 0 },
  ]);
  const report = check({ inspection: { proxy: { ...PROXY, daemons } } });
  expect(troubles(report)).toEqual(["warn proxy/running east"]);
});

test("service ranges that are neither declared nor readable are not taken for none", () => {
  const { hub: _, ...east } = aSighting("east");
  const { hub: __, ...west } = aSighting("west");
  const of = (cidr: string) => ({ ...RANGES, podCIDRs: answered([cidr]) });
  const report = runChecks({
    observation: { sightings: [east, west], nowMs: NOW_MS },
    inspections: [
      anInspection("east", {
        ranges: { ...of("10.1.0.0/16"), serviceCIDRs: answered(["10.96.0.0/16"]) },
      }),
      anInspection("west", {
        ranges: { ...of("10.2.0.0/16"), serviceCIDRs: unread("You may not list servicecidrs.") },
      }),
    ],
  });
  expect(resultOf(report, "cidrs/overlap")).toMatchObject({
    state: "warn",
    found:
      "The pod ranges of east and west are apart, but which ranges the Services of west have cannot be told.",
  });
});

test("who may read services is told what was asked about, and no more", () => {
  const { found } = resultOf(check(), "rbac/reader", "east");
  expect(found).not.toContain("all");
  expect(found).toContain("What else is hidden from you is told where it is missing.");
});
