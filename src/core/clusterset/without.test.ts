// What would be left without a cluster, where others could not be asked: unread is not absent. Built by hand.

import { expect, test } from "vitest";
import { aSlice } from "../../../test/kubeObjects.ts";
import { SERVICE } from "../../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../api/mcs.ts";
import { type ClusterId, SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../../api/names.ts";
import { apiVersionOf, type Resource } from "../../api/object.ts";
import { NOTHING_SEEN, SIGHTED_KINDS, type Sighting } from "./sighting.ts";
import { viewWithout } from "./without.ts";

const id = (name: string) => name as ClusterId;

function aSighting(name: string, fields: Partial<Sighting> = {}): Sighting {
  return {
    name,
    cluster: id(name),
    problems: [],
    unread: [],
    ...NOTHING_SEEN,
    ...fields,
  };
}

function web(resource: Resource) {
  const metadata = { namespace: "shop", name: "web", creationTimestamp: "2026-11-16T08:00:00Z" };
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

const spec = {
  clusterIP: "10.96.0.1",
  ports: [{ name: "http", protocol: "TCP" as const, port: 80 }],
};

function importOf(...clusters: readonly string[]) {
  return { ...web(SERVICE_IMPORT), status: { clusters: clusters.map((cluster) => ({ cluster })) } };
}

function exporter(name: string, ...listed: readonly string[]): Sighting {
  return aSighting(name, {
    serviceExports: [web(SERVICE_EXPORT)],
    services: [{ ...web(SERVICE), spec }],
    serviceImports: [importOf(...(listed.length === 0 ? [name] : listed))],
  });
}

function lossOf(sightings: readonly Sighting[]) {
  return viewWithout({ sightings, nowMs: 0 }, id("east"))![0]!;
}

const WEST_AWAY = aSighting("west", { unread: SIGHTED_KINDS });

test("a service that only the cluster exports is gone, though no other importer was read", () => {
  expect(lossOf([exporter("east")])).toMatchObject({
    loss: "gone",
    imports: [],
    why: "Only east exports it, as far as could be read.",
  });
  expect(lossOf([exporter("east"), WEST_AWAY]).loss).toBe("gone");
  const forbidden = aSighting("west", { serviceImports: [importOf("east")], unread: ["slices"] });
  expect(lossOf([exporter("east"), forbidden])).toMatchObject({ loss: "gone", imports: [] });
});

test("what others would have left is not known where none that imports it was read", () => {
  expect(lossOf([exporter("east", "east", "west")]).loss).toBe("unknown");
  const blind = { ...exporter("west"), unread: ["slices"] as const };
  expect(lossOf([exporter("east"), blind])).toMatchObject({ loss: "unknown", exports: ["west"] });
});

test("nothing is lost of what the cluster does not export, or nobody else imports", () => {
  const importing = aSighting("east", { serviceImports: [importOf("west")] });
  expect(lossOf([importing, WEST_AWAY]).loss).toBe("none");
  expect(lossOf([exporter("east"), aSighting("west")]).loss).toBe("none");
});

test("a slice without ports, which the API shows as null, is a route of its own", () => {
  const labels = { [SERVICE_NAME_LABEL]: "web", [SOURCE_CLUSTER_LABEL]: "east" };
  const copy = aSlice([{ addresses: ["10.1.0.1"] }], {
    metadata: { namespace: "shop", name: "web-east", labels },
  });
  const slices = [{ ...copy, ports: null as unknown as [] }];
  const west = aSighting("west", { serviceImports: [importOf("east")], slices });
  expect(lossOf([exporter("east"), west])).toMatchObject({ loss: "gone", routes: ["IPv4"] });
});
