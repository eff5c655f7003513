// What check says where there is no hub, where two clusters cannot be told apart, and where little can be read.

import { expect, test } from "vitest";
import { HUB_CRDS } from "../src/api/crds.ts";
import type { ClusterId } from "../src/api/names.ts";
import { runChecks } from "../src/core/check/checkup.ts";
import { answered, unread } from "../src/core/check/inspection.ts";
import { aSighting, anInspection, check, NOW_MS, resultOf, troubles } from "./checkWorld.ts";

const HIDDEN = unread("You may not look.");
const { access: ACCESS, dns: DNS, ranges: RANGES } = anInspection("east");

test("in central mode it is asked whether central could work, and nothing of hub and agents", () => {
  const central = { ...ACCESS, central: answered(["create services"]) };
  const { agent: _, ...access } = central;
  const report = check({ hub: "none", inspection: { access } });
  expect(resultOf(report, "rbac/central", "east")).toMatchObject({ state: "warn" });
  const codes = new Set(report.checks.map(({ code }) => code));
  for (const code of ["leases/agent", "leases/member", "identity/member", "orphans/hub"] as const) {
    expect(codes).not.toContain(code);
  }
});

test("in central mode pod ranges are those of the nodes, and overlap as well", () => {
  const ranges = { ...RANGES, podCIDRs: answered(["10.1.0.0/16"]) };
  const { hub: _, ...east } = aSighting("east");
  const { hub: __, ...west } = aSighting("west");
  const report = runChecks({
    observation: { sightings: [east, west], nowMs: NOW_MS },
    inspections: [anInspection("east", { ranges }), anInspection("west", { ranges })],
  });
  expect(resultOf(report, "cidrs/overlap")).toMatchObject({
    state: "fail",
    found: "east: The pod range 10.1.0.0/16 overlaps the pod range 10.1.0.0/16 of west.",
  });
});

test("two clusters of one id fail, and the second takes part in nothing", () => {
  const twin = aSighting("east", { name: "twin", cluster: "east" as ClusterId });
  const report = runChecks({
    observation: { sightings: [aSighting("east"), twin], nowMs: NOW_MS },
    inspections: [anInspection("east"), anInspection("east", { name: "twin", uid: answered("b") })],
  });
  expect(resultOf(report, "identity/unique")).toMatchObject({ state: "fail" });
  expect(resultOf(report, "identity/unique").found).toContain('twin goes by the id "east"');
});

test("services that may not be listed are neither without orphans nor without labels", () => {
  const problem = "You may not list services of all namespaces.";
  const report = check({ sighting: { unread: ["services"], problems: [problem] } });
  expect(troubles(report)).toEqual(["warn proxy/services east", "warn orphans/services east"]);
  expect(resultOf(report, "proxy/services", "east").found).toBe(`It cannot be told: ${problem}`);
});

test("ranges of nodes that may not be listed are not taken for none", () => {
  const { hub: _, ...east } = aSighting("east");
  const { hub: __, ...west } = aSighting("west");
  const ranges = { ...RANGES, podCIDRs: unread("You may not list nodes.") };
  const report = runChecks({
    observation: { sightings: [east, west], nowMs: NOW_MS },
    inspections: [anInspection("east", { ranges }), anInspection("west", { ranges })],
  });
  expect(resultOf(report, "cidrs/overlap")).toMatchObject({
    state: "warn",
    found:
      "Which ranges the pods of east and west are in cannot be told. None was declared, and nodes do not tell: You may not list nodes.",
  });
});

test("a cluster that is only a hub is asked for nothing that members need", () => {
  const found = answered(new Map(HUB_CRDS.map((crd) => [crd.metadata.name!, crd])));
  const bare = anInspection("hub", {
    crds: { found, served: [], unknown: [] },
    identity: answered(undefined),
  });
  const { hub: _, ...sighting } = aSighting("hub", { cluster: undefined });
  const report = runChecks({
    observation: { sightings: [sighting], nowMs: NOW_MS },
    inspections: [bare],
  });
  expect(troubles(report)).toEqual([]);
  expect(resultOf(report, "crds/installed").found).toContain("it is a hub, and no member");
  const old = { ...bare, version: answered("v1.29.1") };
  const observation = { sightings: [sighting], nowMs: NOW_MS };
  expect(troubles(runChecks({ observation, inspections: [old] }))).toEqual([
    "fail versions/kubernetes hub",
  ]);
});

test("whatever cannot be read is a warning, never a pass or a failure", () => {
  const report = check({
    inspection: {
      uid: HIDDEN,
      identity: HIDDEN,
      version: HIDDEN,
      aheadMs: HIDDEN,
      crds: { found: HIDDEN, served: [], unknown: [] },
      access: { reader: HIDDEN, central: HIDDEN, agent: HIDDEN },
      agentLease: HIDDEN,
      ranges: { podCIDRs: HIDDEN, serviceCIDRs: HIDDEN, pods: HIDDEN },
      dns: {
        ...DNS,
        corefile: HIDDEN,
        nodeLocal: HIDDEN,
        deployed: HIDDEN,
        access: HIDDEN,
        service: HIDDEN,
      },
      proxy: { daemons: HIDDEN, mode: HIDDEN },
    },
  });
  expect(report.counts.fail).toBe(0);
  expect(troubles(report)).toEqual([
    "warn crds/installed east",
    "warn rbac/reader east",
    "warn rbac/agent east",
    "warn identity/known east",
    "warn leases/agent east",
    "warn clock/skew east",
    "warn cidrs/declared east",
    "warn dns/zone east",
    "warn dns/service east",
    "warn proxy/running east",
    "warn versions/kubernetes east",
  ]);
});
