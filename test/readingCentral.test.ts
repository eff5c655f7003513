// What the view says of clusters that central keeps in step, beside what central itself does: in step when it is at rest,
// and the right sentence for everything that is broken on purpose. On a virtual clock.

import { expect, test } from "vitest";
import { ENDPOINT_SLICE, SERVICE, type ServiceSpec } from "../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { DERIVED_SERVICE_ANNOTATION, KUBE_SERVICE_NAME_LABEL } from "../src/api/names.ts";
import { viewStatus } from "../src/core/clusterset/health.ts";
import { NOTHING_SEEN, SIGHTED_KINDS } from "../src/core/clusterset/sighting.ts";
import { viewClusterset } from "../src/core/clusterset/view.ts";
import { viewWithout } from "../src/core/clusterset/without.ts";
import type { ClusterId } from "../src/api/names.ts";
import { anEndpoint, HEADLESS } from "./scenarios/objects.ts";
import { at, complaints, mustExplain, observeCentral, openCentral } from "./sightings.ts";

const UNREADY = { conditions: { ready: false, serving: false, terminating: false } };
const PORT_8000: ServiceSpec = {
  ports: [{ name: "http", protocol: "TCP", port: 8000, targetPort: 8080 }],
};

test("in a world at rest everything is in step, and nobody complains", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"]);
  await west.site.offer("db", ["10.2.0.9"], HEADLESS);
  await world.pass(5);
  const observation = await observeCentral(world);
  expect(complaints(mustExplain(observation))).toEqual([]);
  expect(complaints(mustExplain(observation, "shop/db"))).toEqual([]);
  expect(viewStatus(observation)).toMatchObject({ well: true, findings: [] });
  const view = viewClusterset(observation);
  const web = view.services.find(({ name }) => name === "web")!;
  expect(web.exports.map(({ cluster, oldest }) => [cluster, oldest])).toEqual([
    ["east", true],
    ["west", false],
  ]);
  for (const row of web.imports) {
    expect(row).toMatchObject({ endpoints: 3, ready: 3, unknown: [] });
    expect(row.behind).toBeUndefined();
    expect(row.sources.map(({ cluster, ready, liveness }) => [cluster, ready, liveness])).toEqual([
      ["east", 2, "live"],
      ["west", 1, "live"],
    ]);
    expect(row.ips).toHaveLength(1);
    expect(row.sync.lagSeconds).toBeLessThanOrEqual(1);
  }
});

test("an endpoint that is not ready is out everywhere, and its pod is named at its home", async () => {
  const { world, east } = await openCentral("east", "west");
  const targetRef = { kind: "Pod", name: "web-2" };
  await east.site.offer("web", ["10.1.0.1", anEndpoint("10.1.0.2", { ...UNREADY, targetRef })]);
  await world.pass(5);
  const observation = await observeCentral(world);
  expect(at(observation, "in west", "from east", "10.1.0.2")).toMatchObject({
    verdict: "bad",
    why: "Its pod web-2 is not ready in east.",
  });
  expect(at(observation, "export in east", "endpoints", "10.1.0.2").next).toBe(
    "In east: kubectl -n shop describe pod web-2",
  );
  expect(at(observation, "in west", "from east", "10.1.0.1").inUse).toBe(true);
  // One of two is enough.
  expect(viewStatus(observation).well).toBe(true);
});

test("a port that lost is told at both exports, by the merge's own sentence, and at each endpoint it costs (R28, R44)", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], PORT_8000);
  await world.pass(5);
  const observation = await observeCentral(world);
  const written = (await west.site.exportConditions("web"))["Conflict"]!;
  for (const cluster of ["east", "west"]) {
    expect(at(observation, `export in ${cluster}`, "PortConflict").why).toBe(written.message);
  }
  expect(at(observation, "export in west", "PortConflict").next).toContain(
    "Make the Service in west agree with that of east",
  );
  expect(at(observation, "in east", "from west", "10.2.0.1").why).toBe(
    "Its ports are left out: west has http 8000/TCP, the service is http 80/TCP.",
  );
  expect(mustExplain(observation).usable.map(({ verdict }) => verdict)).toEqual(["good", "good"]);
  const { well, findings } = viewStatus(observation);
  expect(well).toBe(false);
  expect(findings.map(({ what }) => what)).toEqual(["export in west: PortConflict"]);
});

test("two types are one conflict, and the oldest keeps its address", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], HEADLESS);
  await world.pass(5);
  const observation = await observeCentral(world);
  expect(at(observation, "export in west", "TypeConflict").why).toContain('Using "ClusterSetIP"');
  expect(at(observation, "in west", "address").verdict).toBe("good");
});

test("while central is stopped, what changed is behind, and who has to mend it is named", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  await east.site.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
    ...slice,
    endpoints: [anEndpoint("10.1.0.7")],
  }));
  const observation = await observeCentral(world);
  const step = at(observation, "in west", "in step");
  expect(step.why).toBe(
    "west is behind what is exported: 1 EndpointSlice is missing or out of date.",
  );
  expect(step.next).toContain("Is isthmus central running, and does it reach west?");
  expect(at(observation, "in west", "from east", "10.1.0.1")).toMatchObject({
    verdict: "bad",
    inUse: true,
    why: "It is still in the slice, though east does not have it any more.",
  });
  expect(at(observation, "in west", "from east", "10.1.0.7").why).toBe(
    "It has not arrived in west.",
  );
  // The only endpoint that traffic finds is gone.
  expect(mustExplain(observation).verdict).toBe("bad");
  expect(viewClusterset(observation).services[0]!.imports[0]!.sync.pendingSince).toBeDefined();
});

test("an import whose endpoints are right and whose spec is not is behind, too", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  await east.site.edit(SERVICE, "web", (service) => ({
    ...service,
    spec: { ...service.spec, sessionAffinity: "ClientIP" as const },
  }));
  const { well, findings } = viewStatus(await observeCentral(world));
  expect(well).toBe(false);
  expect(findings.map(({ what }) => what)).toEqual(["in east: in step", "in west: in step"]);
});

test("a cluster that exports without a ready endpoint is told, though others serve", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", [anEndpoint("10.2.0.1", UNREADY)]);
  await world.pass(5);
  const { findings } = viewStatus(await observeCentral(world));
  expect(findings.map(({ what, verdict }) => [what, verdict])).toEqual([
    ["export in west: endpoints", "bad"],
  ]);
});

test("an export that central has not seen is said to have no conditions, its import to be missing", async () => {
  const { world, east } = await openCentral("east", "west");
  await world.during(world.stop());
  await east.site.offer("web", ["10.1.0.1"]);
  const observation = await observeCentral(world);
  expect(at(observation, "export in east", "in step").why).toContain("it has no conditions");
  expect(at(observation, "in west").why).toBe(
    'There is no ServiceImport "web", though east exports the service.',
  );
});

test("an export that is gone while central is stopped leaves an import that has to go", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  await east.site.unexport("web");
  const observation = await observeCentral(world);
  expect(at(observation, "in west", "in step").why).toContain(
    "nobody exports the service any more",
  );
  expect(at(observation, "exports").verdict).toBe("bad");
});

test("slices of a cluster that exports no more, while another does, have to go", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  await west.site.unexport("web");
  const observation = await observeCentral(world);
  expect(at(observation, "in east", "in step").why).toContain("1 EndpointSlice has to go");
});

test("a family that the cluster lacks is told by its condition, and is nothing to be behind by (R18)", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  // As if the service were IPv6 and west knew IPv4 only: what central writes then.
  const { sightings, nowMs } = await observeCentral(world);
  const judgement = {
    type: "Ready",
    status: "False" as const,
    reason: "IPFamilyNotSupported",
    message:
      "The service speaks IPv6, which this cluster does not. Give the cluster that family, or export the service over one it has.",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const [eastern, western] = sightings;
  const services = eastern!.services.map((service) =>
    service.metadata.name === "web"
      ? { ...service, spec: { ...service.spec, ipFamilies: ["IPv6" as const] } }
      : service,
  );
  const serviceImports = western!.serviceImports.map((serviceImport) => {
    const { ips: _, ...spec } = serviceImport.spec!;
    const { [DERIVED_SERVICE_ANNOTATION]: __, ...annotations } =
      serviceImport.metadata.annotations!;
    const conditions = [{ ...judgement, observedGeneration: serviceImport.metadata.generation! }];
    return {
      ...serviceImport,
      metadata: { ...serviceImport.metadata, annotations },
      spec: { ...spec, ipFamilies: ["IPv6" as const] },
      status: { ...serviceImport.status, conditions },
    };
  });
  const observation = {
    sightings: [
      { ...eastern!, services },
      { ...western!, services: [], serviceImports, slices: [] },
    ],
    nowMs,
  };
  const { parts } = at(observation, "in west");
  expect(parts.find(({ what }) => what === "import")).toMatchObject({
    verdict: "bad",
    why: judgement.message,
  });
  const row = viewClusterset(observation).services[0]!.imports.find(
    ({ cluster }) => cluster === "west",
  );
  expect(row!.behind).toBeUndefined();
});

test("a cluster that nobody reaches is told with its problem, and what others made of its endpoints", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  west.line.cut();
  await world.pass(25);
  const through = { west: west.line.store };
  let observation = await observeCentral(world, { through });
  expect(viewClusterset(observation).clusters[1]).toMatchObject({ id: "west", liveness: "silent" });
  await world.pass(10);
  observation = await observeCentral(world, { through });
  const [, lost] = viewClusterset(observation).clusters;
  expect(lost).toMatchObject({ liveness: "lost" });
  expect(lost!.livenessWhy).toContain("east has none of its endpoints any more");
  expect(at(observation, "in east", "from west").verdict).toBe("bad");
  expect(mustExplain(observation).usable).toEqual([{ cluster: "east", verdict: "good" }]);
  const { findings } = viewStatus(observation);
  expect(findings.map(({ subject, verdict }) => [subject, verdict])).toEqual([["west", "bad"]]);
});

test("a cluster that only central does not reach is not taken for dead: its endpoints are late", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  west.line.cut();
  await world.pass(40);
  const observation = await observeCentral(world);
  expect(viewClusterset(observation).clusters.map(({ liveness }) => liveness)).toEqual([
    "live",
    "live",
  ]);
  expect(at(observation, "in east", "in step").verdict).toBe("bad");
});

test("a cluster without the namespace is no failure, and says how to get the service there (R14)", async () => {
  const { world, east } = await openCentral("east", "west");
  await world.createNamespace(east.site.store, "pay");
  await east.site.in("pay").offer("db", ["10.1.0.1"]);
  await world.pass(5);
  const observation = await observeCentral(world);
  const explained = mustExplain(observation, "pay/db");
  expect(explained.verdict).toBe("good");
  expect(explained.parts.find(({ what }) => what === "in west")).toMatchObject({
    verdict: "unknown",
    why: 'There is no namespace "pay" in west, so the service is not imported there.',
    next: "If it is to be used there, run in west: kubectl create namespace pay",
  });
  expect(viewStatus(observation).findings).toEqual([]);
});

test("an export without a Service, or of a denied namespace, says why it does not count", async () => {
  const { world, east } = await openCentral("east", "west");
  await east.site.export("web");
  await east.site.in("default").offer("api", ["10.1.0.1"]);
  await world.pass(5);
  const observation = await observeCentral(world);
  expect(at(observation, "export in east").why).toBe(
    'It is not exported: There is no Service "web" in namespace "shop". Create it, or delete this export.',
  );
  const api = mustExplain(observation, "default/api");
  expect(api.parts[0]!.why).toContain('Services of namespace "default" are not exported');
});

test("a slice that somebody detached is seen, though it is ready", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  const [slice] = await west.site.slices("web");
  const { [KUBE_SERVICE_NAME_LABEL]: _, ...labels } = slice!.metadata.labels!;
  await west.site.store.replace(ENDPOINT_SLICE, {
    ...slice!,
    metadata: { ...slice!.metadata, labels },
  });
  const observation = await observeCentral(world);
  expect(at(observation, "in west", "from east").why).toContain(
    "None of its slices is attached to the virtual IP.",
  );
  expect(at(observation, "in west").verdict).toBe("bad");
});

test("a virtual IP whose Service is gone is told as such", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(5);
  await world.during(world.stop());
  const { metadata } = await west.site.derived("web");
  await west.site.delete(SERVICE, metadata.name!);
  const observation = await observeCentral(world);
  expect(at(observation, "in west", "address").why).toContain("is not there");
});

test("with internalTrafficPolicy Local endpoints of other clusters are out (R50)", async () => {
  const { world, west } = await openCentral("east", "west");
  await west.site.offer("web", ["10.2.0.1"], { internalTrafficPolicy: "Local" });
  await world.pass(5);
  const observation = await observeCentral(world);
  expect(at(observation, "in east", "policy").verdict).toBe("bad");
  expect(at(observation, "in east").verdict).toBe("bad");
  expect(at(observation, "in west").verdict).toBe("good");
  expect(at(observation, "in west", "policy").verdict).toBe("unknown");
  const { findings } = viewStatus(observation);
  expect(findings.map(({ what, verdict }) => [what, verdict])).toEqual([
    ["in east: policy", "bad"],
  ]);
});

test("of clusters that were not asked it is said that they were not, and nothing is guessed", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const observation = await observeCentral(world, { only: ["east"] });
  expect(at(observation, "in east", "in step")).toMatchObject({
    verdict: "unknown",
    why: "What west exports was not read, so whether east is in step with it cannot be told.",
  });
  expect(at(observation, "in east", "from west", "10.2.0.1").inUse).toBe(true);
  const { well, findings } = viewStatus(observation);
  expect(well).toBe(true);
  expect(findings.map(({ subject, what }) => [subject, what])).toEqual([["west", "reading"]]);
});

test("of a cluster that was named and did not answer it is not said that it was not asked", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await west.site.offer("web", ["10.2.0.1"]);
  await world.pass(5);
  const { sightings, nowMs } = await observeCentral(world);
  const silent = { unread: SIGHTED_KINDS, isSilent: true, problems: ["It is away."] };
  const away = { name: "west.yaml", cluster: undefined, ...silent, ...NOTHING_SEEN };
  const observation = { sightings: [sightings[0]!, away], nowMs };
  expect(at(observation, "in east", "from west")).toMatchObject({
    why: expect.stringContaining("west itself did not answer, or was not asked."),
    next: "If it is west.yaml, which did not answer, name it as west=west.yaml.",
  });
  const found = viewStatus(observation).findings.find(({ subject }) => subject === "west");
  expect(found?.why).toContain("did not answer, or was not asked");
});

test("with one of two clusters asked, conflicts are told by the condition, and nobody is said to win", async () => {
  const { world, east, west } = await openCentral("east", "west");
  await east.site.offer("web", ["10.1.0.1"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"], { ...PORT_8000, sessionAffinity: "ClientIP" });
  await world.pass(5);
  const written = (await west.site.exportConditions("web"))["Conflict"]!;
  for (const { site } of [east, west]) {
    const observation = await observeCentral(world, { only: [site.id] });
    const [row] = viewClusterset(observation).services[0]!.exports;
    expect(row!.conflicts.map(({ reason }) => reason).join()).toBe(written.reason);
    expect(row!.conflicts.map(({ message }) => message).join("\n")).toBe(written.message);
    expect(row).not.toHaveProperty("oldest");
    expect(row).not.toHaveProperty("winner");
    const explained = at(observation, `export in ${site.id}`);
    expect(explained.verdict).toBe("bad");
    expect(explained.why).not.toContain("oldest");
    expect(explained.parts[0]!.next).toContain("The oldest export wins, which is named here.");
    const { well, findings } = viewStatus(observation);
    expect(well).toBe(false);
    expect(findings.filter(({ verdict }) => verdict === "bad").map(({ about }) => about)).toEqual([
      "service",
      "service",
    ]);
  }
  // The port of west lost, which nobody sees who does not see that of east.
  const observation = await observeCentral(world, { only: ["west"] });
  expect(at(observation, "in west", "from west")).toMatchObject({ verdict: "unknown" });
  expect(at(observation, "in west", "from west", "10.2.0.1")).toMatchObject({
    verdict: "unknown",
    why: "It is not in west, and why cannot be told: what east exports was not read.",
  });
});

test("an import made by hand is not said to be behind", async () => {
  const { world, west } = await openCentral("east", "west");
  await west.site.create(SERVICE_IMPORT, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "web" },
    spec: { type: "ClusterSetIP", ports: [{ name: "http", protocol: "TCP", port: 80 }] },
  });
  await world.pass(5);
  const [service] = viewClusterset(await observeCentral(world)).services;
  expect(service!.imports.map(({ cluster, behind }) => [cluster, behind])).toEqual([
    ["west", undefined],
  ]);
});

test("without a cluster: what each service would have left, and what the merge would become", async () => {
  const { world, east, west } = await openCentral("east", "west", "edge");
  await east.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await world.pass(2);
  await west.site.offer("web", ["10.2.0.1"]);
  await east.site.offer("lone", ["10.1.0.9"]);
  await west.site.offer("far", ["10.2.0.9"]);
  await east.site.offer("odd", ["10.1.0.8"]);
  await world.pass(2);
  await west.site.offer("odd", ["10.2.0.8"], PORT_8000);
  await world.pass(5);
  const losses = viewWithout(await observeCentral(world), "east" as ClusterId)!;
  const of = (name: string) => losses.find((loss) => loss.name === name)!;
  expect(of("lone")).toMatchObject({ loss: "gone", exports: [] });
  expect(of("far").loss).toBe("none");
  expect(of("web")).toMatchObject({
    loss: "weaker",
    exports: ["west"],
    imports: [
      { cluster: "edge", ready: 3, left: 1 },
      { cluster: "west", ready: 3, left: 1 },
    ],
  });
  expect(of("odd").loss).toBe("gone");
  expect(of("odd").changes).toEqual([
    "port http 80/TCP goes",
    "port http 8000/TCP comes",
    "its conflict ends",
  ]);
  expect(viewWithout(await observeCentral(world), "mars" as ClusterId)).toBeUndefined();
});
